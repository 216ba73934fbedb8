// Runs the contract of the signer port on the fake and on node:crypto.
import { makeSigner } from "../../adapters/seal/signer.ts"
import { makeFakeVault } from "../fakes/seal.ts"
import { signerContract } from "./signer.ts"

signerContract("in memory", makeFakeVault().signer)
signerContract("node:crypto", makeSigner)
