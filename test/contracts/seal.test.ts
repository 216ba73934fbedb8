// Runs the contract of the seal port on the fake and on node:crypto.
import { makeSeal } from "../../adapters/seal/seal.ts"
import { makeFakeVault } from "../fakes/seal.ts"
import { sealContract } from "./seal.ts"

sealContract("in memory", makeFakeVault().seal)
sealContract("node:crypto", makeSeal)
