/** Signs in with a passkey: the authenticator signs the service's challenge. */

import type { AuthClient } from "../../client/session.ts"

/** Rejects with a DOMException if the user closes the browser's dialog. */
export const withPasskey = async (auth: AuthClient): Promise<void> => {
  const options = await auth.get<PublicKeyCredentialRequestOptionsJSON>("/passkey/generate-authenticate-options")
  const credential = await navigator.credentials.get({
    publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options)
  })
  if (!(credential instanceof PublicKeyCredential)) throw new DOMException("No passkey was given.", "NotAllowedError")
  await auth.post("/passkey/verify-authentication", { response: credential.toJSON() })
}
