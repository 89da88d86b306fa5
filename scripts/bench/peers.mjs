// @ts-check
// What is compared: how to start each system. All of them get the same prompt, files and model server.
import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { bundleEntry, root } from "../layout.mjs"

/**
 * @typedef {{
 *   readonly says: string,
 *   readonly run: (prompt: string, resume: boolean) => ReadonlyArray<string>,
 *   readonly resumes: boolean,
 *   readonly version?: ReadonlyArray<string>,
 *   readonly settings?: Readonly<Record<string, string>>,
 *   readonly missing?: () => string | undefined
 * }} Peer `run` and `version` are arguments of node; `resumes` when it can continue a stored session;
 *   `settings` are files of the home, by their paths in it
 */

const here = dirname(fileURLToPath(import.meta.url))
const program = join(root, "packages", "cli", "bin", "skein.js")

/** The program as the system starts it: with the flags that its first line gives to node. */
const skein = [.../^#!.* node (.*)$/m.exec(readFileSync(program, "utf8"))?.[1]?.split(" ") ?? [], program]

/** @type {Readonly<Record<string, Peer>>} */
export const peers = {
  raw: {
    says: "a bare loop over fetch, which stores nothing",
    run: (prompt) => [join(here, "peers", "raw.mjs"), prompt],
    resumes: false,
    version: ["--eval", "0"]
  },
  aisdk: {
    says: "a loop over the AI SDK, which stores nothing",
    run: (prompt) => [join(here, "peers", "aisdk.mjs"), prompt],
    resumes: false
  },
  skein: {
    says: "the built command line program, everything stored in SQLite",
    // The defaults, except for the limits that the larger fan-outs would reach.
    settings: { ".config/skein/skein.json": JSON.stringify({ limits: { answer: { calls: 10_000 } } }) },
    run: (prompt, resume) => [
      ...skein,
      ...["run", "--model", "openai/m", "--concurrency", "1000", "--max-tasks", "10000", "--format", "quiet"],
      ...(resume ? ["--continue"] : []),
      prompt
    ],
    resumes: true,
    version: [...skein, "--version"],
    missing: () => existsSync(bundleEntry) ? undefined : "it is not built yet; \"npm run bench\" builds it first"
  }
}
