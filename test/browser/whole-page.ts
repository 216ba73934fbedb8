/** The test page's script: the client, and the calls that Node makes, too. */

import * as library from "../../web/client/index.ts"
import * as calls from "../web/calls.ts"

Object.assign(globalThis, { library, calls })
