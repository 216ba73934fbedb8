/**
 * Types of PostgreSQL for which there is no kind of their own: fields of the kind `native` carry their values as the database prints them. It says
 * which types these are, and which of them a caller may write.
 */

/** Types whose input refuses every wrong text as bad data, so that a write of it is refused like any other wrong value. */
const written: readonly string[] = [
  "bit",
  "box",
  "circle",
  "datemultirange",
  "int4multirange",
  "int8multirange",
  "line",
  "lseg",
  "macaddr8",
  "nummultirange",
  "oid",
  "path",
  "pg_lsn",
  "point",
  "polygon",
  "timetz",
  "tsmultirange",
  "tstzmultirange",
  "varbit",
  "xid8",
  "xml"
]

/** Types whose input looks names up, cuts texts off, runs a parser of its own, or does not exist. They are read only. */
const readOnlyTypes: readonly string[] = [
  "aclitem",
  "char",
  "cid",
  "gtsvector",
  "int2vector",
  "jsonpath",
  "name",
  "oidvector",
  "pg_brin_bloom_summary",
  "pg_brin_minmax_multi_summary",
  "pg_dependencies",
  "pg_mcv_list",
  "pg_ndistinct",
  "pg_node_tree",
  "pg_snapshot",
  "refcursor",
  "regclass",
  "regcollation",
  "regconfig",
  "regdictionary",
  "regnamespace",
  "regoper",
  "regoperator",
  "regproc",
  "regprocedure",
  "regrole",
  "regtype",
  "tid",
  "tsquery",
  "tsvector",
  "txid_snapshot",
  "xid"
]

const [writable, own] = [new Set(written), new Set([...written, ...readOnlyTypes])]

/** Whether callers may write values of the type. */
export const isWritableNative = (type: string): boolean => writable.has(type)

/** Whether the type is one of PostgreSQL's own that no other kind stands for. */
export const isNative = (type: string): boolean => own.has(type)
