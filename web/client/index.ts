/**
 * `resource-admin/client`: the service from JavaScript, in browsers and wherever else there is `fetch`. It imports no package.
 */

export { createClient, sourceClient } from "./client.ts"
export type { Client, ClientOptions } from "./client.ts"

export type { BatchBuilder, BatchResults, Created, Operation, Reference, Referring, Reordered } from "./batch.ts"
export { fileUrl } from "./file.ts"
export type { FileValue, Uploaded, UploadOptions, UploadProgress, UploadSource } from "./file.ts"
export { and, Condition, Filter, filterText, not, Now, now, or, search } from "./filter.ts"
export { solveChallenge } from "./form.ts"
export type { FormChallenge, FormClient, FormDocument, FormProof } from "./form.ts"
export { keyParts, keyText, readKey } from "./key.ts"
export type { KeyInput } from "./key.ts"
export type {
  MetaBlock,
  MetaDocument,
  MetaField,
  MetaMenuItem,
  MetaModel,
  MetaPage,
  MetaRelation,
  MetaView
} from "./meta.ts"
export { ConnectionError, ProblemError } from "./problem.ts"
export type { ProblemDocument, ProblemEntry } from "./problem.ts"
export type {
  AggregateQuery,
  ChangeOptions,
  CreateOptions,
  DeleteOptions,
  Facets,
  FacetsQuery,
  Filtered,
  FilteredOptions,
  Granularity,
  GroupIn,
  Groups,
  Histogram,
  HistogramQuery,
  Listing,
  ListQuery,
  MeasureIn,
  Page,
  ResourceClient,
  SeekPage,
  Selection,
  Series,
  SeriesQuery,
  Upserting,
  WriteOptions
} from "./records.ts"
export { routedClient } from "./routed.ts"
export type { AuthClient, Session, SessionUser, SignIn, SignInMethods } from "./session.ts"
export { mergeMeta, sourceMeta } from "./source-meta.ts"
export type { SourceMeta } from "./source-meta.ts"
export { isSafeSource } from "./source.ts"
export type { Source } from "./source.ts"
export type { TokenSource } from "./token.ts"
export type { Answer, Call, CallOptions, FetchFunction, QueryValue } from "./transport.ts"
export type {
  Addition,
  CreateIn,
  ExpandIn,
  FieldIn,
  FieldOf,
  FileFieldOf,
  FilterIn,
  Json,
  KeyOf,
  ListsIn,
  RecordExtras,
  RecordIn,
  RecordPermissions,
  ResourceName,
  SortIn,
  UpdateIn
} from "./typed.ts"
export type { WatchEvent, WatchOptions } from "./watch.ts"
