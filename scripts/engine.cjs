// Loaded into npm when an older Node runs it, by ensure.mjs. npm leaves out optional packages whose `engines` do not
// fit the running Node. But the packages will run on the packaged Node, so npm must judge them by that version.
const { optionalDependencies } = require("../tools/node/package.json")

Object.defineProperty(process, "version", { value: `v${Object.values(optionalDependencies)[0]}` })
