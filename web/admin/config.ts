/** The settings that the server gives to the page before sign-in: where the API and the app are, and what the app is called. */

export interface AppConfig {
  /** The name of the app for people. */
  readonly name: string
  /** Path of the system endpoints (`/api`) and of the resources (`/api/v1`). */
  readonly api: string
  readonly basePath: string
  /** Where the app lives: `/` or `/admin`. */
  readonly path: string
  /** `token`: accounts live elsewhere, and people paste a token. */
  /** Manifests of plugins. */
  readonly plugins?: readonly string[]
  readonly signIn: "password" | "token"
  /** Where mails are shown that were not sent: in development only. */
  readonly mails?: string
}

const usual: AppConfig = { name: "Admin", api: "/api", basePath: "/api/v1", path: "/", signIn: "password" }

const read = (): AppConfig => {
  const text = document.documentElement.dataset["config"]
  const given: Partial<AppConfig> = text === undefined ? {} : JSON.parse(text)
  return { ...usual, ...given }
}

export const config: AppConfig = read()

/** The beginning of every address of the app: empty, or `/admin`. */
export const prefix: string = config.path === "/" ? "" : config.path
