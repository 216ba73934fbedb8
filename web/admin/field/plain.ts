/** A value of the wire as the text it is: exact, without any format. Null and what is absent are empty. */
export const plain = (value: unknown): string => {
  switch (typeof value) {
    case "string":
      return value
    case "number":
    case "boolean":
    case "bigint":
      return String(value)
    default:
      return value === null || value === undefined ? "" : JSON.stringify(value)
  }
}
