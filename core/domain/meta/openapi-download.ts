/** The routes of files beside those of resources: downloads, which need no token, and the cleanup, which admins may ask for. */

import { headersOf, jsonContent, refusals } from "./openapi-resource.ts"
import { closedObject, type Doc, type Subjects } from "./openapi-schema.ts"

const text: Doc = { type: "string" }
const count: Doc = { type: "integer", minimum: 0 }
const header = (description: string): Doc => ({ description, schema: text })

const inPath = (name: string, description: string, example: string): Doc => ({
  name,
  in: "path",
  required: true,
  description,
  schema: text,
  example
})

const inLink = (name: string, description: string, schema: Doc = text): Doc => ({
  name,
  in: "query",
  description,
  schema
})

const inHead = (name: string, description: string): Doc => ({ name, in: "header", description, schema: text })

/** Headers of every answer about a file. */
const always: Doc = {
  "Accept-Ranges": header("Always `bytes`."),
  "Content-Security-Policy": header("Always `sandbox; default-src 'none'`."),
  "Cross-Origin-Resource-Policy": header("Always `cross-origin`.")
}

const headers: Doc = {
  ...always,
  "Content-Disposition": header(
    "`inline` for raster images, PDF, audio and video without `download=1`, else `attachment`; with the file's name."
  ),
  "ETag": header("Of the file: its bytes never change."),
  "Last-Modified": header("When it was stored.")
}

const sent = (description: string, more: Doc = {}): Doc => ({
  description,
  headers: { ...headersOf(), ...headers, ...more },
  content: {
    "*/*": { schema: { type: "string", format: "binary", description: "Its type is that of its extension." } }
  }
})

const plain = (description: string, headers: Doc): Doc => ({
  description,
  headers: { ...headersOf(), ...headers }
})

/** The routes, where the caller sees a file field at all; the cleanup for admins. */
export const filePaths = (parent: string, subjects: Subjects, tag: string, admin: boolean): Doc => {
  const all = [...subjects.values()]
  const sees = all.some(({ access: { restricted } }) => restricted.fields.some(({ file }) => file !== null))
  const cleans = admin && all.some(({ access: { model } }) => model.fields.some(({ file }) => file !== null))
  return {
    ...(sees
      ? {
        [`${parent}/files/{provider}/{folder}/{file}`]: {
          get: {
            operationId: "readFile",
            tags: [tag],
            summary: "Bytes of a file, or of a variant of an image",
            description:
              "Take the whole address from a record: `url` of a file field. An imported file may lie in deeper folders.",
            security: [],
            parameters: [
              inPath("provider", "Name of the provider.", "private"),
              inPath("folder", "The tenant, or `_`.", "_"),
              inPath("file", "Name of the stored file, or of a variant.", "k3v7q2m4x6z5n7b2c4d6f7g2h3.pdf"),
              inLink("r", "Private files: the resource."),
              inLink("k", "Private files: the record's key."),
              inLink("f", "Private files: the field."),
              inLink("exp", "Private files: when the link ends, in Unix seconds.", { type: "integer" }),
              inLink("sig", "Private files: the signature over all of it."),
              inLink("download", "`1` makes the answer an attachment, whatever the file is.", {
                type: "string",
                const: "1"
              }),
              inHead("Range", "One range of bytes. Several, or another unit, give the whole."),
              inHead("If-Range", "The range counts only for this ETag or date."),
              inHead("If-None-Match", "ETags already held: 304 when one is current."),
              inHead("If-Modified-Since", "304 when the file is not newer.")
            ],
            responses: {
              "200": sent("The file."),
              "206": sent("The range.", { "Content-Range": header("Which bytes these are, and of how many.") }),
              "302": plain("The file is in a bucket; the link there lasts as long as this one.", {
                ...always,
                "Location": header("Presigned address.")
              }),
              "304": plain("The version held is current.", headers),
              "416": plain("The range begins behind the end.", {
                ...always,
                "Content-Range": header("How many bytes there are.")
              }),
              ...refusals(403, 404)
            }
          }
        }
      }
      : {}),
    ...(cleans
      ? {
        [`${parent}/files:cleanup`]: {
          post: {
            operationId: "cleanUpFiles",
            tags: [tag],
            summary: "Delete the files whose time has come and that no record holds",
            responses: {
              "200": {
                description: "What was done; the service does the same every hour.",
                headers: headersOf(),
                content: jsonContent(closedObject({
                  deleted: { ...count, description: "Files, with their variants." },
                  kept: { ...count, description: "Files that a record holds." }
                }, ["deleted", "kept"]))
              },
              ...refusals(400, 401, 403)
            }
          }
        }
      }
      : {})
  }
}
