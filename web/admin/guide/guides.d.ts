/** The pages of docs/ that the build reads (scripts/guides.mjs), by their names in addresses. */
declare module "virtual:guides" {
  export const guides: { readonly [name: string]: () => Promise<import("./tree.ts").GuideModule> }
}
