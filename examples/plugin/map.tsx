/** A small map of the world with a dot in the country of the value. */

import type { CellProps } from "resource-admin/plugin"

/** Latitude and longitude of some countries' middles. */
const middles: { readonly [country: string]: readonly [latitude: number, longitude: number] } = {
  AT: [47.6, 14.1],
  AU: [-25.7, 134.5],
  BE: [50.6, 4.6],
  BR: [-10.8, -53.1],
  CA: [61.4, -98.3],
  CH: [46.8, 8.2],
  CN: [36.6, 103.8],
  CZ: [49.7, 15.3],
  DE: [51.1, 10.4],
  DK: [56.0, 10.0],
  EE: [58.7, 25.5],
  ES: [40.2, -3.6],
  FI: [64.5, 26.3],
  FR: [46.6, 2.5],
  GB: [54.1, -2.9],
  IE: [53.2, -8.1],
  IN: [22.9, 79.6],
  IS: [65.0, -18.6],
  IT: [42.8, 12.1],
  JP: [37.6, 138.0],
  MX: [23.9, -102.5],
  NL: [52.1, 5.3],
  NO: [64.6, 12.7],
  NZ: [-41.8, 171.5],
  PL: [52.1, 19.4],
  PT: [39.6, -8.5],
  SE: [62.8, 16.7],
  US: [39.8, -98.6],
  ZA: [-29.0, 25.1]
}

const width = 44
const height = 22

/** Rough outlines of the continents, in degrees: enough to see where a dot is. */
const land = [
  "M-165,65L-95,72L-60,55L-80,25L-97,16L-83,8L-105,20L-125,40Z",
  "M-80,8L-35,-7L-55,-35L-70,-54L-81,-5Z",
  "M-10,36L-9,44L5,60L28,71L60,70L100,77L180,66L140,50L122,30L105,8L78,8L58,25L35,36L27,38Z",
  "M-17,15L-5,35L32,31L51,12L40,-15L20,-35L10,3Z",
  "M114,-22L131,-12L143,-11L153,-28L140,-38L116,-34Z"
]

export const MapCell = ({ value }: CellProps) => {
  const at = typeof value === "string" ? middles[value] : undefined
  return (
    <span style={{ display: "inline-flex", alignItems: "center", gap: 8 }}>
      {at !== undefined && (
        <svg width={width} height={height} viewBox="-180 -90 360 180" aria-hidden="true">
          {land.map((d) => <path key={d} d={d} transform="scale(1 -1)" fill="currentColor" opacity="0.18" />)}
          <circle cx={at[1]} cy={-at[0]} r="14" fill="#c2410c" />
        </svg>
      )}
      <span>{typeof value === "string" ? value : ""}</span>
    </span>
  )
}
