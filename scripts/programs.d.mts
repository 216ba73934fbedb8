/** Types of programs.mjs, for the tests. */
export type ProgramName = "chromium" | "pgbouncer" | "curl" | "radosgw" | "ceph-mon" | "ceph-osd"
export declare const findProgram: (key: ProgramName, names?: readonly string[]) => string | null
export declare const missingPrograms: () => readonly string[]
