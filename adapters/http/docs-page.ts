/**
 * The page of `/api/docs`: a sign-in form, and a script that signs in, fetches the reference's parts with a bearer token and shows them. It
 * holds nothing of the API: without a token there is only the form. The token stays in the script's memory.
 */

/** How people get a token: with their password at the sign-in routes, or from elsewhere, to be pasted. */
export type DocsSignIn = "password" | "token"

export interface PageParts {
  /** Path of the system endpoints, for example `/api`; plain characters only. */
  readonly parent: string
  readonly signIn: DocsSignIn
  /** Value of the nonce in this answer's Content-Security-Policy. */
  readonly nonce: string
}

const style = `
:root { font: 16px/1.5 system-ui, sans-serif; color: #1c2333; background: #fff }
body { margin: 0 }
[hidden] { display: none !important }
#gate { max-width: 20rem; margin: 15vh auto 0; padding: 0 1rem }
#gate h1 { font-size: 1.25rem; margin: 0 0 1rem }
#gate label { display: block; margin: 0 0 .75rem; font-size: .875rem }
#gate input { display: block; box-sizing: border-box; width: 100%; margin-top: .25rem; padding: .5rem; font: inherit; border: 1px solid #8a93a6; border-radius: 4px }
#gate button { width: 100%; padding: .6rem; font: inherit; font-weight: 600; color: #fff; background: #1c4ed8; border: 0; border-radius: 4px; cursor: pointer }
#gate button:disabled { opacity: .6; cursor: default }
:is(#gate input, button):focus-visible { outline: 2px solid #1c4ed8; outline-offset: 2px }
#message { min-height: 1.5rem; margin: .75rem 0 0; font-size: .875rem; color: #b00020 }
#bar { display: flex; justify-content: flex-end; gap: 1rem; padding: .5rem 1rem; font-size: .875rem; border-bottom: 1px solid #d8dce5 }
#bar button { padding: 0; font: inherit; color: #1c4ed8; background: none; border: 0; cursor: pointer; text-decoration: underline }
`

const script = `
"use strict";
(() => {
  const { nonce } = document.currentScript
  const { api, signIn } = document.body.dataset
  const withPassword = signIn === "password"
  const [gate, form, message, bar] = ["gate", "form", "message", "bar"].map((id) => document.getElementById(id))
  let token = ""
  let refreshing = null
  let shown = false

  const container = () => Object.assign(document.createElement("div"), { id: "reference" })
  const bodyOf = (response) => response.json().catch(() => null)
  const refusalOf = (response, body) =>
    new Error(body !== null && typeof body.detail === "string" ? body.detail : "The service answered " + response.status + ".")

  const post = (path, body) =>
    fetch(api + path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) })

  /** A new token for the session. Requests whose token expired at the same time share one. */
  const refresh = () =>
    refreshing ??= (async () => {
      const response = await fetch(api + "/auth/token", { cache: "no-store" })
      const body = await bodyOf(response)
      if (!response.ok || body === null || typeof body.token !== "string") throw refusalOf(response, body)
      token = body.token
    })().finally(() => { refreshing = null })

  /** Back to the form. What was shown is removed, because the next to sign in may be somebody else. */
  const ask = (text) => {
    token = ""
    shown = false
    document.getElementById("reference").replaceWith(container())
    message.textContent = text
    gate.hidden = false
    bar.hidden = true
    form.elements[0].focus()
  }

  /** What Swagger UI shows in place of the token. */
  const placeholder = "Bearer <token>"

  /** fetch with the token, which goes to this origin only. */
  const authorized = async (url, init = {}) => {
    const headers = new Headers(init.headers)
    const mine = new URL(url, location.href).origin === location.origin
    const send = () => {
      if (mine) headers.set("authorization", "Bearer " + token)
      return fetch(url, { ...init, headers })
    }
    const response = await send()
    if (response.status !== 401 || !mine) return response
    if (withPassword) {
      try {
        await refresh()
        return await send()
      } catch (error) {
        ask("Please sign in again. " + error.message)
      }
    } else ask("The token is not accepted.")
    return response
  }

  const part = async (path) => {
    const response = await authorized(api + path)
    if (!response.ok) throw refusalOf(response, await bodyOf(response))
    return response.text()
  }

  const inject = (name, text) => {
    const element = document.createElement(name)
    element.nonce = nonce
    element.textContent = text
    document.head.append(element)
  }

  const show = async () => {
    const text = await part("/openapi.json")
    if (window.SwaggerUIBundle === undefined) {
      const [css, bundle] = await Promise.all(["/docs/swagger-ui.css", "/docs/swagger-ui-bundle.js"].map(part))
      inject("style", css)
      inject("script", bundle)
    }
    const spec = JSON.parse(text)
    // The page's own origin is the only one its policy lets it call.
    spec.servers = [{ url: location.origin }]
    // This page takes the credentials. A second way to enter them would only confuse.
    delete spec.security
    delete spec.components.securitySchemes
    for (const item of Object.values(spec.paths)) for (const operation of Object.values(item)) delete operation.security
    window.SwaggerUIBundle({
      spec,
      domNode: document.getElementById("reference"),
      presets: [window.SwaggerUIBundle.presets.apis],
      layout: "BaseLayout",
      // With many resources only their names are open at first; else everything is.
      docExpansion: spec.tags.length > 12 ? "none" : "list",
      defaultModelsExpandDepth: 0,
      validatorUrl: null,
      persistAuthorization: false,
      requestInterceptor: (request) => {
        request.headers.Authorization = placeholder
        return Object.assign(request, { userFetch: authorized })
      }
    })
    shown = true
    gate.hidden = true
    bar.hidden = false
  }

  const enter = async () => {
    if (!withPassword) {
      token = form.elements.token.value.trim()
      form.reset()
      return
    }
    const { email, password } = form.elements
    const response = await post("/auth/sign-in/email", { email: email.value, password: password.value })
    password.value = ""
    if (!response.ok) {
      const refusal = refusalOf(response, await bodyOf(response))
      const status = response.status === 401 ? await bodyOf(await fetch(api + "/auth/status")) : null
      throw status !== null && status.needsAdmin === true
        ? new Error("There is no user yet. Create the first on the host: service users create <EMAIL>")
        : refusal
    }
    await refresh()
  }

  const attempt = async (steps) => {
    const button = form.querySelector("button")
    message.textContent = ""
    button.disabled = true
    try {
      await steps()
    } catch (error) {
      ask(error.message)
    } finally {
      button.disabled = false
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault()
    void attempt(async () => {
      await enter()
      await show()
    })
  })

  document.getElementById("leave").addEventListener("click", () => {
    void attempt(async () => {
      if (withPassword) await post("/auth/sign-out", {})
      location.reload()
    })
  })

  // A session from before saves typing the password again.
  if (withPassword) {
    void attempt(async () => {
      const session = await bodyOf(await fetch(api + "/auth/get-session", { cache: "no-store" }))
      if (session === null || session.user === undefined) return
      await refresh()
      await show()
    })
  }
})()
`

const fields: { readonly [kind in DocsSignIn]: string } = {
  password: `<label>Email <input name="email" type="email" autocomplete="username" required autofocus></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>`,
  token: `<label>Bearer token <input name="token" type="password" autocomplete="off" required autofocus></label>`
}

/** The page as HTML. */
export const docsPage = ({ nonce, parent, signIn }: PageParts): string =>
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API reference</title>
<link rel="icon" href="data:,">
<style nonce="${nonce}">${style}</style>
</head>
<body data-api="${parent}" data-sign-in="${signIn}">
<main id="gate">
<h1>API reference</h1>
<form id="form">
${fields[signIn]}
<button>Sign in</button>
<p id="message" role="alert"></p>
</form>
<noscript>The reference needs JavaScript.</noscript>
</main>
<div id="bar" hidden><button id="leave" type="button">Sign out</button></div>
<div id="reference"></div>
<script nonce="${nonce}">${script}</script>
</body>
</html>
`

/** The policy of the page: nothing but its own nonce'd elements, and requests to its own origin. */
export const docsPolicy = (nonce: string): string =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "img-src data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
