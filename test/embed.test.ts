/** The README's example runs in a clone from the sources, without a build. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, it } from "vitest"
import { root } from "../scripts/layout.mjs"
import { packagesOf } from "../scripts/release/packages.mjs"
import { startLlm } from "./support/llm.ts"

it("runs the example without a build", async () => {
  const llm = await startLlm(() => ({ text: "It is src/bin.ts." }))
  const { stderr, stdout } = await promisify(execFile)(process.execPath, [join(root, "test", "examples", "embed.ts")], {
    cwd: root,
    env: { ...process.env, OPENAI_BASE_URL: llm.url, OPENAI_API_KEY: "sk-test", OPENAI_MODEL: "" }
  })
  await llm.close()
  expect({ stderr, stdout: stdout.trim() }).toEqual({ stderr: "", stdout: "It is src/bin.ts." })
})

it("resolves every library to its sources", () => {
  for (const { manifest } of packagesOf()) {
    if (manifest["bin"] === undefined) expect(manifest.exports, manifest.name).toMatchObject({ "./*": "./src/*.ts" })
  }
})
