/** Signs in with a passkey: the service's challenge goes to the browser's authenticator, and what that signs goes back. */

import type { AuthClient } from "../../client/session.ts"

/** Rejects with a DOMException when the person closes the browser's dialog. */
export const withPasskey = async (auth: AuthClient): Promise<void> => {
  const options = await auth.get<PublicKeyCredentialRequestOptionsJSON>("/passkey/generate-authenticate-options")
  const credential = await navigator.credentials.get({
    publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options)
  })
  if (!(credential instanceof PublicKeyCredential)) throw new DOMException("No passkey was given.", "NotAllowedError")
  await auth.post("/passkey/verify-authentication", { response: credential.toJSON() as unknown })
}
