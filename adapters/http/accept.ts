/** What a request says it takes: media types and codings (RFC 9110, 12). It decides nothing about what there is to give. */

export type Coding = "br" | "gzip" | "identity"

/** What an `Accept` or `Accept-Encoding` header names, in lower case, but for what it says it does not want (RFC 9110, 12.4.2). */
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

/** Whether the client says that it takes HTML: a browser's navigation does, a program's request for anything does not. */
export const takesHtml = (accept: string | null): boolean => acceptedIn(accept).has("text/html")
