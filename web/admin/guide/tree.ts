/** A page of the documentation as the build reads it: plain data, which the app shows with its own components. */

/** Text in a line. `to`: an address of the app, `#anchor`, or a whole address. `picture`: a number among the page's pictures. */
export type Inline =
  | string
  | { readonly of: "strong" | "em"; readonly inline: readonly Inline[] }
  | { readonly of: "code"; readonly text: string }
  | { readonly of: "link"; readonly to: string; readonly inline: readonly Inline[] }
  | { readonly of: "picture"; readonly picture: number; readonly text: string }

export type Block =
  | {
    readonly of: "heading"
    readonly level: 1 | 2 | 3 | 4 | 5 | 6
    readonly anchor: string
    readonly inline: readonly Inline[]
  }
  | { readonly of: "paragraph"; readonly inline: readonly Inline[] }
  | { readonly of: "code"; readonly text: string }
  | { readonly of: "quote"; readonly blocks: readonly Block[] }
  | { readonly of: "list"; readonly ordered: boolean; readonly items: readonly (readonly Block[])[] }
  | {
    readonly of: "table"
    readonly head: readonly (readonly Inline[])[]
    readonly rows: readonly (readonly (readonly Inline[])[])[]
  }

export interface Guide {
  readonly title: string
  readonly blocks: readonly Block[]
}

/** A page with the addresses of its pictures. */
export interface GuideModule {
  readonly guide: Guide
  readonly pictures: readonly string[]
}

/** The text of a line without its marks. */
export const plainText = (inline: readonly Inline[]): string =>
  inline.map((each) =>
    typeof each === "string" ? each : each.of === "code" || each.of === "picture" ? each.text : plainText(each.inline)
  ).join("")
