/** What a request accepts: media types and codings (RFC 9110, 12). It does not know what can be given. */

export type Coding = "br" | "gzip" | "identity"

/** The names in an `Accept` or `Accept-Encoding` header, in lower case, without those that the client refuses (RFC 9110, 12.4.2). */
const acceptedIn = (header: string | null): ReadonlySet<string> => {
  const accepted = new Set<string>()
  for (const part of (header ?? "").toLowerCase().split(",")) {
    const [name = "", ...parameters] = part.split(";").map((text) => text.trim())
    if (!parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))) accepted.add(name)
  }
  return accepted
}

/** The coding to answer with: the best of ours that the request accepts (RFC 9110, 12.5.3). */
export const codingFor = (header: string | null): Coding => {
  const accepted = acceptedIn(header)
  return accepted.has("br") ? "br" : accepted.has("gzip") ? "gzip" : "identity"
}

/** Whether the client explicitly accepts HTML. A browser's navigation does. A program that accepts anything does not. */
export const takesHtml = (accept: string | null): boolean => acceptedIn(accept).has("text/html")
