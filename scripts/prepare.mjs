// npm runs this after every install of the whole workspace (the `prepare` script): the steps after an install.
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { expectedStamp, installStamp, root } from "./layout.mjs"
import { needNewerNode } from "./ownNode.mjs"

needNewerNode()

/**
 * @param {string} line
 * @returns {never}
 */
const fail = (line) => {
  process.stderr.write(`skein: ${line}\n`)
  process.exit(1)
}

// `tsc` becomes a build of the same compiler that knows Effect: a floating Effect is then a type error. Doing it twice does no harm.
const patch = spawnSync(
  process.execPath,
  [join(root, "node_modules", "@effect", "tsgo", "dist", "effect-tsgo.cjs"), "patch", "--typescript"],
  { cwd: root, encoding: "utf8" }
)
if (patch.status !== 0) fail(`the Effect diagnostics could not be added to tsc:\n${patch.stdout}${patch.stderr}`)

// A platform without a prebuilt binary shows now rather than at the first session.
try {
  const Database = createRequire(import.meta.url)("better-sqlite3")
  new Database(":memory:").close()
} catch (cause) {
  fail(
    `better-sqlite3, which stores the sessions, does not load: ${
      cause instanceof Error ? cause.message : String(cause)
    }\n`
      + "It has prebuilt binaries for Linux, macOS and Windows on x64 and arm64. Elsewhere build it: npm run build-release in node_modules/better-sqlite3."
  )
}

writeFileSync(installStamp, expectedStamp())
