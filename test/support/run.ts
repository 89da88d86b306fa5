/** Runs of the built program whose model is a script. */
import { atEnd } from "./atEnd.ts"
import { type Sandbox, sandbox, type Start } from "./cli.ts"
import { type Llm, type LlmAnswer, type LlmRequest, startLlm } from "./llm.ts"

/** A project and a model that answers, with a run of it. */
export const world = async (
  script: (request: LlmRequest) => LlmAnswer | string,
  files?: Readonly<Record<string, string>>
) => {
  const llm: Llm = await startLlm(script)
  const place: Sandbox = sandbox({ llm: llm.url, ...(files === undefined ? {} : { files }) })
  atEnd(llm.close, place.remove)
  const run = (args: ReadonlyArray<string>, start?: Start) => place.run(["run", "-m", "openai/m", ...args], start)
  return { llm, place, run }
}

/** A parent that delegates twice, and two children that read a file. */
export const family = (request: LlmRequest): LlmAnswer | string => {
  const task = (description: string, prompt: string) => ({
    tool: "task",
    args: { description, prompt, subagent_type: "explore" }
  })
  const [asked = ""] = request.user
  if (asked.startsWith("child")) {
    return request.messages.at(-1)?.role === "tool"
      ? `${asked} read: ${request.last.includes("needle") ? "needle" : "nothing"}`
      : { calls: [{ tool: "read", args: { filePath: `${asked.replace("child ", "")}.txt` } }] }
  }
  return request.messages.at(-1)?.role === "tool"
    ? `Both say: ${
      request.messages.filter(({ role }) => role === "tool").map(({ content }) =>
        /read: (\w+)/.exec(String(content))?.[1]
      ).join(", ")
    }`
    : { text: "I ask two.", calls: [task("Look into a", "child a"), task("Look into b", "child b")] }
}

/** What the children of the family read. */
export const familyFiles = { "a.txt": "a needle\n", "b.txt": "hay\n" }

interface Line {
  readonly type: string
  readonly seq?: number
  readonly sessionID: string
  readonly depth: number
  readonly properties: unknown
}

/** The events that `--format json` prints. */
export const linesOf = (stdout: string): ReadonlyArray<Line> =>
  stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Line)
