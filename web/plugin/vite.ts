/**
 * `resource-admin/plugin/vite`: builds a plugin with Vite. The plugin uses the app's React and has no copy of it. The output is one module, and a
 * manifest with its digest.
 */

import type { Manifest } from "./index.ts"

/** The global variable with the modules that the app shares with plugins. */
const kit = "globalThis[Symbol.for(\"resource-admin/plugin\")]"

const names = (text: string): readonly string[] => text.trim().split(/\s+/)

/** The exports of the app's React (19.x), by module. */
const shared: { readonly [module: string]: { readonly member: string; readonly names: readonly string[] } } = {
  "react": {
    member: "react",
    names: names(`Activity Children Component Fragment Profiler PureComponent StrictMode Suspense cache cloneElement
      createContext createElement createRef forwardRef isValidElement lazy memo startTransition use useActionState
      useCallback useContext useDebugValue useDeferredValue useEffect useEffectEvent useId useImperativeHandle
      useInsertionEffect useLayoutEffect useMemo useOptimistic useReducer useRef useState useSyncExternalStore
      useTransition version`)
  },
  "react/jsx-runtime": { member: "jsx", names: ["Fragment", "jsx", "jsxs"] }
}

const development = "react/jsx-dev-runtime"
const mark = "\0resource-admin/"

interface Chunk {
  readonly type: string
  readonly fileName: string
  readonly code?: string
}

interface Emitter {
  readonly emitFile: (file: { readonly type: "asset"; readonly fileName: string; readonly source: string }) => unknown
  readonly error: (message: string) => never
}

/** A plugin of Vite. */
export interface PluginBuild {
  readonly name: string
  readonly enforce: "pre"
  readonly config: () => object
  readonly resolveId: (id: string) => string | null
  readonly load: (id: string) => string | null
  readonly generateBundle: {
    readonly order: "post"
    readonly handler: (this: Emitter, options: unknown, bundle: { readonly [file: string]: Chunk }) => Promise<void>
  }
}

/**
 * Builds `entry` (whose default export is `definePlugin({ … })`) and writes `manifest.json` beside it.
 *
 * @example
 * export default defineConfig({
 *   plugins: [adminPlugin({ entry: "plugin.tsx", name: "stars", version: "1.0.0", provides: { cells: ["stars"] } })]
 * })
 */
export const adminPlugin = (
  { entry, ...manifest }: Omit<Manifest, "module" | "integrity"> & { readonly entry: string }
): PluginBuild => ({
  name: "resource-admin-plugin",
  enforce: "pre",
  config: () => ({
    define: { "process.env.NODE_ENV": "\"production\"" },
    build: {
      target: "es2022",
      modulePreload: false,
      cssCodeSplit: false,
      rolldownOptions: {
        input: entry,
        preserveEntrySignatures: "strict",
        output: { entryFileNames: `${manifest.name}-[hash].js`, codeSplitting: false }
      }
    }
  }),
  resolveId: (id) => Object.hasOwn(shared, id) || id === development ? mark + id : null,
  load: (id) => {
    if (!id.startsWith(mark)) return null
    // Development builds call this module. The app's React does not have it.
    if (id === mark + development) {
      return `const { jsx } = ${kit}.jsx\nexport { Fragment } from "react"\nexport const jsxDEV = (type, props, key) => jsx(type, props, key)\n`
    }
    const { member, names } = shared[id.slice(mark.length)]!
    return `const all = ${kit}.${member}\nexport default all\nexport const { ${names.join(", ")} } = all\n`
  },
  generateBundle: {
    order: "post",
    async handler(_, bundle) {
      const [chunk, ...more] = Object.values(bundle).filter(({ fileName }) => !fileName.endsWith(".map"))
      if (chunk?.code === undefined || more.length > 0) {
        return this.error(
          `A plugin is one module, and this one has ${more.map(({ fileName }) => fileName).join(", ")} besides.`
        )
      }
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-384", new TextEncoder().encode(chunk.code)))
      const integrity = `sha384-${btoa(String.fromCharCode(...digest))}`
      const whole: Manifest = { ...manifest, module: chunk.fileName, integrity }
      this.emitFile({ type: "asset", fileName: "manifest.json", source: `${JSON.stringify(whole, null, 2)}\n` })
    }
  }
})
