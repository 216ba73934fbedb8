/**
 * The plugins that the service lists: manifests are read when the app starts, and modules are loaded on first use. A manifest is untrusted data. A
 * module runs only from the folder of its manifest and with the digest that the manifest names. Failures are kept for the page that lists plugins,
 * and affect nothing else.
 */

import * as React from "react"
import * as jsx from "react/jsx-runtime"
import { createClient } from "../../client/client.ts"
import { ConnectionError, ProblemError } from "../../client/problem.ts"
import type { Manifest, Plugin, Provides } from "../../plugin/index.ts"
import { config } from "../config.ts"

/** Why a plugin is not available. */
export type Failure =
  | "unreachable"
  | "no-manifest"
  | "elsewhere"
  | "wrong-integrity"
  | "no-module"
  | "no-plugin"
  | "missing-part"
  | "threw"

export interface PluginState {
  /** Address of the manifest. */
  readonly url: string
  readonly manifest: Manifest | null
  readonly state: "loading" | "listed" | "loaded" | "failed"
  readonly failure: Failure | null
  /** Details for the plugin's author. */
  readonly detail: string
}

export type Kind = "cells" | "inputs" | "pages" | "actions"

/** Timeout in milliseconds of a manifest, and of a module. */
const longestMs = 10_000
const largestManifest = 65_536

let states: readonly PluginState[] = (config.plugins ?? []).map((url) => ({
  url,
  manifest: null,
  state: "loading",
  failure: null,
  detail: ""
}))
const modules = new Map<string, Promise<Plugin | null>>()
const listeners = new Set<() => void>()

const put = (url: string, changed: Partial<PluginState>): void => {
  states = states.map((each) => each.url === url ? { ...each, ...changed } : each)
  for (const listener of listeners) listener()
}

export const subscribe = (listener: () => void): () => void => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}
export const pluginStates = (): readonly PluginState[] => states

/** Notes that a part of a plugin failed in use. */
export const noteFailure = (url: string, failure: Failure, detail: string): void =>
  put(url, { state: "failed", failure, detail })

type Bag = { readonly [member: string]: unknown }
const isBag = (value: unknown): value is Bag => typeof value === "object" && value !== null && !Array.isArray(value)
const isName = (value: unknown): value is string => typeof value === "string" && /^[a-z][\w-]{0,62}$/i.test(value)
const isLabel = (value: unknown): value is string => typeof value === "string" && value !== "" && value.length <= 100
/** Whether the value is a component's name that views may use. */
const isComponent = (value: unknown): value is string =>
  typeof value === "string" && /^[a-z][\w.:/-]{0,99}$/i.test(value)
const namesOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.slice(0, 100).filter(isComponent) : []
const entriesOf = (value: unknown): readonly [string, unknown][] =>
  isBag(value) ? Object.entries(value).slice(0, 100).filter(([name]) => isName(name)) : []

const providesOf = (value: unknown): Provides => {
  const bag = isBag(value) ? value : {}
  return {
    cells: namesOf(bag["cells"]),
    inputs: namesOf(bag["inputs"]),
    pages: Object.fromEntries(
      entriesOf(bag["pages"]).filter((entry): entry is [string, string] => isLabel(entry[1]))
    ),
    actions: Object.fromEntries(
      entriesOf(bag["actions"]).flatMap(([name, action]) =>
        isBag(action) && isLabel(action["label"])
          ? [[name, {
            label: action["label"],
            ...(Array.isArray(action["resources"]) ? { resources: namesOf(action["resources"]) } : {})
          }]]
          : []
      )
    )
  }
}

/** The manifest, or why it is not valid. */
const readManifest = (value: unknown, address: string): Manifest | Failure => {
  if (!isBag(value)) return "no-manifest"
  const { integrity, module, name, version } = value
  if (!isName(name) || typeof version !== "string" || version.length > 50) return "no-manifest"
  if (typeof module !== "string" || !URL.canParse(module, address)) return "no-manifest"
  if (typeof integrity !== "string" || !/^sha(?:256|384|512)-[A-Za-z0-9+/]{43,88}={0,2}$/.test(integrity)) {
    return "no-manifest"
  }
  const at = new URL(module, address)
  const folder = new URL(".", address)
  if (at.origin !== folder.origin || !at.pathname.startsWith(folder.pathname)) return "elsewhere"
  return { name, version, module: at.href, integrity, provides: providesOf(value["provides"]) }
}

const fetchManifest = async (url: string): Promise<unknown> => {
  const address = new URL(url, location.href)
  // This client of the plugin's host sends no token and follows no redirect.
  const place = createClient({ baseUrl: `${address.origin}/-/`, token: "", retries: 0 })
  const { data } = await place.request<unknown>({
    method: "GET",
    system: true,
    path: address.pathname,
    token: false,
    maxBytes: largestManifest,
    signal: AbortSignal.timeout(longestMs)
  })
  return data
}

const within = <T>(work: Promise<T>): Promise<T> =>
  Promise.race([
    work,
    new Promise<never>((_, reject) =>
      setTimeout(() => reject(new Error(`No answer in ${longestMs / 1000} s.`)), longestMs)
    )
  ])

/**
 * Fetches the module and checks its digest. The browser caches it, and an import by its address then gives the same text. An import without this
 * step would check no digest.
 */
const fetchChecked = ({ integrity, module }: Manifest): Promise<void> =>
  new Promise((resolve, reject) => {
    const link = document.createElement("link")
    link.rel = "modulepreload"
    link.crossOrigin = "anonymous"
    link.integrity = integrity
    link.href = module
    link.addEventListener("load", () => resolve())
    link.addEventListener("error", () => reject(new Error("It is not there, or its digest is another one.")))
    document.head.append(link)
  })

const load = async (url: string, manifest: Manifest): Promise<Plugin | null> => {
  const fail = (failure: Failure, error: unknown): null => {
    noteFailure(url, failure, error instanceof Error ? error.message : String(error))
    return null
  }
  try {
    await within(fetchChecked(manifest))
  } catch (error) {
    return fail("wrong-integrity", error)
  }
  let module: unknown
  try {
    const { default: plugin } = await within(
      import(/* @vite-ignore */ manifest.module) as Promise<{ readonly default: unknown }>
    )
    module = plugin
  } catch (error) {
    return fail("no-module", error)
  }
  if (!isBag(module)) return fail("no-plugin", "The module has no default export of definePlugin.")
  put(url, { state: "loaded", failure: null })
  return module as Plugin
}

/** The first listed plugin that provides a part of this name. Undefined if there is none, or its manifest is not loaded yet. */
export const providerOf = (kind: Kind, name: string): PluginState | undefined =>
  states.find(({ manifest }) => {
    const provided = manifest?.provides[kind]
    return Array.isArray(provided) ? provided.includes(name) : provided !== undefined && Object.hasOwn(provided, name)
  })

/** Loads a part of a plugin. Null if it is not available. */
export const partOf = async (provider: PluginState, kind: Kind, name: string): Promise<unknown> => {
  const { manifest, url } = provider
  if (manifest === null) return null
  let module = modules.get(url)
  if (module === undefined) modules.set(url, module = load(url, manifest))
  const plugin = await module
  if (plugin === null) return null
  const parts: unknown = plugin[kind]
  const part = isBag(parts) && Object.hasOwn(parts, name) ? parts[name] : undefined
  if (typeof part === "function" || (kind !== "actions" && isBag(part))) return part
  noteFailure(url, "missing-part", `${kind}.${name}`)
  return null
}

let begun = false

/** Reads all manifests, once. */
export const beginPlugins = (): void => {
  if (begun) return
  begun = true
  Object.assign(globalThis, { [Symbol.for("resource-admin/plugin")]: Object.freeze({ react: React, jsx }) })
  for (const { url } of states) {
    fetchManifest(url).then(
      (value) => {
        const read = readManifest(value, new URL(url, location.href).href)
        if (typeof read === "string") noteFailure(url, read, "")
        else put(url, { manifest: read, state: "listed" })
      },
      (error: unknown) =>
        noteFailure(
          url,
          "unreachable",
          error instanceof ProblemError || error instanceof ConnectionError ? error.message : String(error)
        )
    )
  }
}
