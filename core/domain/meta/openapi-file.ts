/** Files in the OpenAPI document: the object that stands for a file in answers, what bodies take, the upload of a resource, and the cleanup. */

import type { FileField } from "../model/file.ts"
import type { Field } from "../model/model.ts"
import type { Json } from "../value/kind.ts"

type Doc = { readonly [member: string]: Json }

const text: Doc = { type: "string" }
const pixels: Doc = { type: ["integer", "null"], minimum: 1 }

/** The object in answers, or the list of them. */
export const fileAnswer = (field: Field, file: FileField): Doc =>
  field.kind === "list"
    ? { type: field.optional ? ["array", "null"] : "array", items: fileObject(file, false) }
    : fileObject(file, field.optional)

const fileObject = (file: FileField, optional: boolean): Doc => ({
  type: optional ? ["object", "null"] : "object",
  description: "A file. `url` is made for each answer and opens without a token.",
  required: ["uri"],
  properties: {
    uri: { type: "string", description: "What is stored; a write takes it back unchanged." },
    name: text,
    type: { type: "string", description: "Media type." },
    size: { type: "integer", description: "Bytes." },
    url: { type: "string", description: "Address of the file; a private one ends after two hours at the latest." },
    ...(file.variants.length === 0 ? {} : {
      variants: {
        type: "object",
        properties: Object.fromEntries(file.variants.map(({ name }) => [name, {
          type: "object",
          required: ["url", "type", "width", "height"],
          properties: { url: text, type: text, width: pixels, height: pixels }
        }]))
      }
    }),
    ...(file.placeholder === null
      ? {}
      : { placeholder: { type: ["string", "null"], description: "ThumbHash in base64." } }),
    missing: { type: "boolean", description: "True: the value is no file that this service knows." }
  }
})

/** What a body gives. */
export const fileBody = (field: Field, file: FileField): Doc => {
  const { optional } = field
  const elsewhere = file.externalUrls ? ", or an https URL of a file elsewhere" : ""
  return field.kind === "list"
    ? {
      type: optional ? ["array", "null"] : "array",
      description:
        `All files in their order, none of them twice: of each the \`value\` of an upload's answer, or a \`uri\` that the record has in this field${elsewhere}.`,
      items: { type: "string" },
      ...(field.max === null ? {} : { maxItems: field.max })
    }
    : {
      type: optional ? ["string", "null"] : "string",
      description: `The \`value\` of an upload's answer${
        optional ? ", null to clear the field" : ""
      }, the stored \`uri\` unchanged${elsewhere}.`
    }
}

const exampleFile: Doc = {
  uri: "private:_/k3v7q2m4x6z5n7b2c4d6f7g2h3.pdf?name=report.pdf&size=48213",
  name: "report.pdf",
  type: "application/pdf",
  size: 48_213
}

/** What an answer may carry. */
export const fileExample = ({ kind }: Field): Json => kind === "list" ? [exampleFile] : exampleFile

/** The answer of an upload. */
export const uploadAnswer: Doc = {
  type: "object",
  required: ["value", "file", "derived"],
  properties: {
    value: { type: "string", description: "A ticket: the field's value in a create, update or batch, for 24 hours." },
    file: {
      type: "object",
      required: ["name", "type", "size"],
      properties: { name: text, type: text, size: { type: "integer" } }
    },
    derived: { type: "object", additionalProperties: true, description: "Values that the write sets in other fields." },
    corrected: {
      type: "object",
      description: "The content is of another type than name or Content-Type say.",
      required: ["from", "to"],
      properties: { from: text, to: text }
    }
  }
}

/** The body of an upload: the file itself, or a form with it as the only part. */
export const uploadContent = (fields: readonly Field[]): Doc => {
  const types = new Set(fields.flatMap(({ file }) => file?.accept ?? ["*/*"]))
  return {
    "application/octet-stream": {
      schema: { type: "string", format: "binary", description: `The file. Accepted: ${[...types].join(", ")}.` }
    },
    "multipart/form-data": {
      schema: { type: "object", required: ["file"], properties: { file: { type: "string", format: "binary" } } }
    }
  }
}
