/** Lines of the pictures that are needed before Lucide's own component is there, as Lucide draws them (ISC licence). */

export const lines = {
  check: "M20 6 9 17l-5-5",
  minus: "M5 12h14",
  up: "m5 12 7-7 7 7M12 19V5",
  down: "M12 5v14m7-7-7 7-7-7"
} as const

/** How lines are drawn, as attributes of SVG. */
export const drawing = {
  "class": "icon",
  "viewBox": "0 0 24 24",
  "fill": "none",
  "stroke": "currentColor",
  "stroke-linecap": "round",
  "stroke-linejoin": "round",
  "aria-hidden": "true"
} as const
