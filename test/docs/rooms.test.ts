/** The picture of the rooms of `core/app` in design.md has the arrows that the imports have. */

import { globSync, readFileSync } from "node:fs"
import { posix } from "node:path"
import { expect, it } from "vitest"
import { examplesOf, root } from "./blocks.ts"

const folder = "core/app"
const roomOf = (path: string): string => posix.relative(folder, path).split("/")[0]!

/** Rooms, and an arrow for each room that imports another. */
const builtRooms = () => {
  const rooms = new Set<string>()
  const arrows = new Set<string>()
  for (const file of globSync(`${folder}/**/*.ts`, { cwd: root })) {
    const path = file.replaceAll("\\", "/")
    if (path.endsWith(".test.ts")) continue
    rooms.add(roomOf(path))
    for (const [, specifier] of readFileSync(`${root}/${path}`, "utf8").matchAll(/(?:from|import\() ?"(\.[^"]+)"/g)) {
      const target = posix.join(posix.dirname(path), specifier!)
      if (target.startsWith(`${folder}/`) && roomOf(target) !== roomOf(path)) {
        arrows.add(`${roomOf(path)} -> ${roomOf(target)}`)
      }
    }
  }
  return { rooms: [...rooms].sort(), arrows: [...arrows].sort() }
}

/** The same of a picture, whose lines are `a & b --> c & d`, or the name of a room without arrows. */
const drawnRooms = (picture: string) => {
  const lines = picture.trim().split("\n").slice(1).map((line) =>
    line.split("-->").map((side) => side.split("&").map((name) => name.trim()))
  )
  const arrows = lines.flatMap(([from = [], to = []]) => from.flatMap((a) => to.map((b) => `${a} -> ${b}`)))
  return { rooms: [...new Set(lines.flat(2))].sort(), arrows: arrows.sort() }
}

it("design.md draws the rooms and arrows that there are", () => {
  const [picture] = examplesOf("docs/design.md", "mermaid")
  const { arrows, rooms } = builtRooms()
  const above = rooms.filter((room) => room !== "ground")
  const isToGround = (arrow: string): boolean => arrow.endsWith(" -> ground")
  expect(arrows.filter(isToGround)).toEqual(above.map((room) => `${room} -> ground`))
  expect(drawnRooms(picture!.text)).toEqual({
    rooms: above,
    arrows: arrows.filter((arrow) => !isToGround(arrow))
  })
})
