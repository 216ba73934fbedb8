/**
 * Pictures of the shop's products and people: the seed draws them itself, stores them as an import would, and writes their values into the rows. Who
 * has a picture keeps it.
 */

import * as Effect from "effect/Effect"
import { randomBytes } from "node:crypto"
import { Client } from "pg"
import { storeFile, variantPath } from "resource-admin"
import { sharpImages } from "resource-admin/images"
import sharp from "sharp"
import { cardVariant, fullVariant } from "./resources/products.ts"

const [width, height] = [1_200, 900]

/** What a piece of furniture looks like from afar, as shapes of a drawing. */
const shapes: { readonly [category: string]: (hue: number) => string } = {
  lighting: (hue) =>
    `<path d="M600 120V380" stroke="#444" stroke-width="10"/><path d="M420 540L520 380H680L780 540Z" fill="hsl(${hue} 60% 55%)"/><circle cx="600" cy="570" r="42" fill="#fff3c4"/>`,
  seating: (hue) =>
    `<rect x="380" y="250" width="440" height="300" rx="40" fill="hsl(${hue} 45% 55%)"/><rect x="340" y="500" width="520" height="130" rx="40" fill="hsl(${hue} 45% 45%)"/><path d="M400 630V760M800 630V760" stroke="#5b4636" stroke-width="26"/>`,
  storage: (hue) =>
    `<rect x="380" y="180" width="440" height="560" rx="12" fill="hsl(${hue} 30% 62%)"/>${
      [0, 1, 2].map((i) =>
        `<rect x="410" y="${
          215 + i * 175
        }" width="380" height="145" rx="8" fill="hsl(${hue} 30% 52%)"/><circle cx="600" cy="${
          288 + i * 175
        }" r="14" fill="#333"/>`
      ).join("")
    }`,
  tables: (hue) =>
    `<rect x="260" y="360" width="680" height="60" rx="16" fill="hsl(${hue} 40% 45%)"/><path d="M330 420L290 760M870 420L910 760" stroke="hsl(${hue} 40% 35%)" stroke-width="34"/>`,
  textiles: (hue) =>
    `<rect x="300" y="240" width="600" height="440" rx="24" fill="hsl(${hue} 55% 60%)"/>${
      Array.from({ length: 11 }, (_, i) =>
        `<path d="M${330 + i * 54} 240V680" stroke="hsl(${hue} 55% 50%)" stroke-width="14"/>`).join("")
    }`
}

const draw = (category: string, index: number): Promise<Buffer> => {
  const hue = (index * 47) % 360
  const shape = (shapes[category] ?? shapes["tables"]!)(hue)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}">
<defs><linearGradient id="g" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="hsl(${hue} 30% 95%)"/><stop offset="1" stop-color="hsl(${hue} 30% 84%)"/></linearGradient></defs>
<rect width="100%" height="100%" fill="url(#g)"/><ellipse cx="600" cy="770" rx="360" ry="34" fill="#0002"/>${shape}</svg>`
  return sharp(Buffer.from(svg)).jpeg({ quality: 84 }).toBuffer()
}

/** Colours of each piece of furniture. */
const allColours = 8

/** Whoever has a photo: heads and shoulders in the colours of their names. */
const portrait = (index: number): Promise<Buffer> => {
  const hue = (index * 83 + 20) % 360
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="480" height="480">
<rect width="100%" height="100%" fill="hsl(${hue} 40% 82%)"/><circle cx="240" cy="190" r="86" fill="hsl(${hue} 35% 45%)"/><path d="M70 480C70 350 150 300 240 300S410 350 410 480Z" fill="hsl(${hue} 35% 45%)"/></svg>`
  return sharp(Buffer.from(svg)).webp({ quality: 84 }).toBuffer()
}

type Env = { readonly [name: string]: string | undefined }

/** A stored picture: the value for the column, and what stands beside it. */
interface Drawn {
  readonly value: string
  readonly placeholder: string | null
  readonly width: number
  readonly height: number
}

/** Draws a picture, and stores it with its variants as an import does. */
const storePicture = async (category: string, colour: number, env: Env): Promise<Drawn> => {
  const body = await draw(category, colour)
  const path = `1/${randomBytes(16).toString("hex")}.jpg`
  async function* source() {
    yield body
  }
  const made = await Effect.runPromise(
    sharpImages().render(source, body.length, { copies: [cardVariant, fullVariant], placeholder: true })
  )
  const [card, full] = made?.copies ?? []
  if (made === null || card === undefined || full === undefined) throw new Error("the picture cannot be read")
  await storeFile({ provider: "public", path, body, env })
  await storeFile({ provider: "public", path: variantPath(path, "card", "webp"), body: card.bytes, env })
  await storeFile({ provider: "public", path: variantPath(path, "full", "webp"), body: full.bytes, env })
  const { height, placeholder, width } = made
  const value = `public:${path}?name=${category}-${colour + 1}.jpg&size=${body.length}` +
    `&variants=card.webp,full.webp&sizes=${card.width}x${card.height},${full.width}x${full.height}`
  return { value, placeholder, width, height }
}

/** Gives pictures to products that have none. Products of one category and colour share one: a file may be in several rows. */
const drawProducts = async (client: Client, env: Env, colours: number): Promise<number> => {
  const { rows } = await client.query<{ readonly category: string; readonly colour: number; readonly ids: string[] }>(
    `select category, (id % ${colours})::integer as colour, array_agg(id::text) as ids from shop.products
      where tenant_id = 1 and image is null and deleted_at is null group by 1, 2 order by 1, 2`
  )
  for (const { category, colour, ids } of rows) {
    const { height, placeholder, value, width } = await storePicture(category, colour, env)
    await client.query(
      `update shop.products set image = $2, image_hash = $3, image_width = $4, image_height = $5, updated_at = clock_timestamp()
        where tenant_id = 1 and id = any($1::bigint[]) and image is null`,
      [ids, value, placeholder, width, height]
    )
  }
  return rows.length
}

/** Gives photos to the generated sellers. Photos are private: their links are signed. */
const drawStaff = async (client: Client, env: Env): Promise<number> => {
  const { rows } = await client.query<{ readonly id: string; readonly name: string }>(
    "select id, name from shop.staff where tenant_id = 1 and photo is null and id like 'seller-%' order by id"
  )
  for (const [index, { id, name }] of rows.entries()) {
    const body = await portrait(index)
    const path = `1/${randomBytes(16).toString("hex")}.webp`
    const stored = await storeFile({ provider: "private", path, body, env })
    const called = encodeURIComponent(`${name.toLowerCase().replaceAll(" ", "-")}.webp`)
    await client.query(
      "update shop.staff set photo = $2, updated_at = clock_timestamp() where tenant_id = 1 and id = $1 and photo is null",
      [id, `${stored}?name=${called}&size=${body.length}`]
    )
  }
  return rows.length
}

/**
 * Draws what is missing and answers how many pictures that were. `env` says where the providers are, as it does for the service. `colours`: of each
 * piece of furniture, 1 to 8. Each takes half a second in all.
 */
export const drawPictures = async (url: string, env: Env, colours = allColours): Promise<number> => {
  const client = new Client({ connectionString: url, application_name: "shop-example" })
  await client.connect()
  try {
    return await drawProducts(client, env, colours) + await drawStaff(client, env)
  } finally {
    await client.end()
  }
}
