/** Uploads in the OpenAPI document: of a whole file, in pieces (tus 1.0), and straight to a bucket. A resource has them where the caller may write one of its file fields. */

import { maxMetadata, pieceType, tusVersion } from "../file/unfinished.ts"
import { uploadAnswer, uploadContent } from "./openapi-file.ts"
import { fieldParameter, headersOf, jsonContent, operation, parameter, refusals, respond } from "./openapi-resource.ts"
import type { Doc, Subject } from "./openapi-schema.ts"

const text: Doc = { type: "string" }
const bytes: Doc = { type: "integer", minimum: 0 }

const header = (name: string, description: string, schema: Doc): Doc => ({ name, in: "header", description, schema })
const part = (description: string, schema: Doc): Doc => ({ description, schema })

const version: Doc = part("The version of the protocol.", { type: "string", enum: [tusVersion] })
const expires: Doc = part("When the upload and its address end.", text)
const offset: Doc = part("Where the next piece begins, in bytes.", bytes)

const plain = (description: string, headers: Doc): Doc => ({
  description,
  headers: { ...headersOf(), "Tus-Resumable": version, ...headers }
})

const required = (one: Doc): Doc => ({ ...one, required: true })

const sentVersion = header("Tus-Resumable", "The version of the protocol.", { type: "string", enum: [tusVersion] })

const announcement: Doc = {
  type: "object",
  description: "With `direct=1`: the file that will be sent to the bucket.",
  required: ["name", "size"],
  additionalProperties: false,
  properties: {
    name: text,
    type: { type: ["string", "null"], description: "Media type. The content is looked at first." },
    size: { ...bytes, description: "Bytes of the file." }
  }
}

const signed: Doc = {
  type: "object",
  description:
    "With `direct=1`: the request that brings the file to the bucket. A POST of `Location` then confirms it.",
  required: ["method", "url", "headers", "expires"],
  properties: {
    method: { type: "string", enum: ["PUT"] },
    url: text,
    headers: { type: "object", additionalProperties: text, description: "Headers that the request must have." },
    expires: { type: "string", format: "date-time", description: "When the request is no longer taken." }
  }
}

const address: Doc = {
  name: "upload",
  in: "path",
  required: true,
  description: "The last segment of `Location`. It is for one caller, resource and field.",
  schema: text
}

export const uploadPaths = (subject: Subject, collection: string): { readonly [path: string]: Doc } => {
  const { access, permissions } = subject
  const { creatable, fields, updatable } = access.restricted
  const uploadable = fields.filter(({ file, name }) => file !== null && (creatable.has(name) || updatable.has(name)))
  if (uploadable.length === 0) return {}
  const rule = permissions.create ? "create" : "update"
  const whole = operation(subject, "upload", {
    rule,
    summary: "Upload a file; a write then takes the ticket of the answer",
    parameters: [
      fieldParameter(uploadable, "The file field that the upload is for."),
      { name: "name", in: "query", description: "The file's name.", schema: text },
      {
        name: "direct",
        in: "query",
        description:
          "With it the request announces a file that goes straight to its bucket. A field whose files are in a folder refuses it.",
        schema: { type: "string", enum: ["1"] }
      },
      parameter("Idempotency-Key"),
      header(
        "Tus-Resumable",
        "With it the request begins an upload in pieces: the answer has `Location` and no body. A body is then the first piece.",
        { type: "string", enum: [tusVersion] }
      ),
      header("Upload-Length", "In pieces: bytes of the whole file.", bytes),
      header(
        "Upload-Metadata",
        "In pieces: `filename` and `filetype`, each with its value in base64.",
        { type: "string", maxLength: maxMetadata }
      )
    ],
    responses: {
      "201": {
        ...respond(
          "The file is stored, or an upload in pieces or to a bucket has begun.",
          { oneOf: [uploadAnswer, signed] },
          "Idempotency-Replayed",
          "Location"
        ),
        headers: {
          ...headersOf("Idempotency-Replayed", "Location"),
          "Tus-Resumable": version,
          "Upload-Expires": expires,
          "Upload-Offset": offset
        }
      },
      ...refusals(400, 401, 403, 409, 412, 413, 415, 422, 429, 507)
    }
  })
  const each = (id: string, summary: string, parameters: readonly Doc[], responses: Doc): Doc =>
    operation(subject, id, { rule, summary, parameters, responses })
  return {
    [`${collection}:upload`]: {
      post: {
        ...whole,
        requestBody: {
          required: false,
          content: { ...uploadContent(uploadable), [pieceType]: {}, ...jsonContent(announcement) }
        }
      }
    },
    [`${collection}:upload/{upload}`]: {
      parameters: [address],
      get: each(
        "upload_answer",
        "The ticket of an upload in pieces, once all has arrived, or of one to a bucket, once it was confirmed",
        [],
        {
          "200": respond("The file is stored.", uploadAnswer),
          ...refusals(401, 403, 404, 409, 415, 507)
        }
      ),
      head: each("upload_state", "How much of an upload has arrived", [required(sentVersion)], {
        "200": plain("The upload goes on at `Upload-Offset`.", {
          "Upload-Offset": offset,
          "Upload-Length": part("Bytes of the whole file.", bytes),
          "Upload-Metadata": part("As it was sent.", text),
          "Upload-Expires": expires
        }),
        ...refusals(401, 403, 404, 412)
      }),
      post: each("upload_confirm", "Confirm that a file is in its bucket; the answer has its ticket", [], {
        "200": respond("The file is stored.", uploadAnswer),
        ...refusals(401, 403, 404, 409, 415, 507)
      }),
      patch: {
        ...each("upload_piece", "Send a piece of a file; the last one ends the upload", [
          required(sentVersion),
          required(header("Upload-Offset", "Where the piece begins, in bytes.", bytes))
        ], {
          "204": plain("The piece is stored.", { "Upload-Offset": offset, "Upload-Expires": expires }),
          ...refusals(400, 401, 403, 404, 409, 412, 413, 415, 507)
        }),
        requestBody: {
          required: true,
          content: {
            [pieceType]: { schema: { type: "string", format: "binary", description: "Bytes from the offset on." } }
          }
        }
      },
      delete: each("upload_end", "End an upload in pieces", [required(sentVersion)], {
        "204": plain("Nothing of it is kept. A file that was stored goes unless a record holds it.", {}),
        ...refusals(401, 403, 404, 409, 412)
      })
    }
  }
}
