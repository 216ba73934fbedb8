// Runs the contract of the detector port on the fake and on file-type.
import { makeDetector } from "../../adapters/detector/detector.ts"
import { makeFakeDetector } from "../fakes/detector.ts"
import { detectorContract } from "./detector.ts"

detectorContract("in memory", makeFakeDetector())
detectorContract("file-type", makeDetector())
