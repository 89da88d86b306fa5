/** The built program as the agent of a foreign client of the Agent Client Protocol: acpx. */
import { type Frame, makeChecker } from "@skein/testing/AcpFrames"
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { afterEach, expect, it } from "vitest"
import { program, sandbox } from "./support/cli.ts"
import { type Script, startLlm } from "./support/llm.ts"

const acpx = fileURLToPath(new URL("../node_modules/acpx/dist/cli.js", import.meta.url))

const cleanup: Array<() => unknown> = []
afterEach(async () => {
  for (const each of cleanup.splice(0).toReversed()) await each()
})

/** Runs acpx against the program, over a scripted model. */
const run = async (script: Script, args: ReadonlyArray<string>) => {
  const llm = await startLlm(script)
  const place = sandbox({ llm: llm.url })
  cleanup.push(llm.close, place.remove)
  const command = `${process.execPath} ${program} acp -m openai/m`
  const child = spawn(process.execPath, [acpx, "--agent", command, "--format", "json", ...args], {
    cwd: place.project,
    env: place.env(),
    stdio: ["ignore", "pipe", "pipe"]
  })
  let stdout = ""
  let stderr = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text)
  child.stderr.setEncoding("utf8").on("data", (text: string) => stderr += text)
  const code = await new Promise((resolve) => child.once("close", resolve))
  const frames = stdout.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Frame)
  return { code, stderr, frames, place, llm }
}

const fromClient = new Set(["initialize", "session/new", "session/prompt", "session/cancel", "session/set_mode"])

/** What is wrong with frames, which acpx prints without saying who sent them. */
const wrongIn = (frames: ReadonlyArray<Frame>): ReadonlyArray<string> => {
  const check = makeChecker(true)
  const asked = new Set<string>()
  return frames.flatMap((frame) => {
    const isClient = frame.method === undefined
      ? !asked.delete(JSON.stringify([frame.id, "client"]))
      : fromClient.has(frame.method)
    if (frame.method !== undefined && isClient) asked.add(JSON.stringify([frame.id, "client"]))
    return check(isClient ? "client" : "agent", frame)
  })
}

it("answers acpx, which ends with the turn", async () => {
  const { code, frames, stderr } = await run(() => "Four.", ["exec", "What is two and two?"])
  expect(code, stderr).toBe(0)
  expect(wrongIn(frames)).toEqual([])
  expect(JSON.stringify(frames)).toContain("Four.")
  expect(frames.at(-1)).toMatchObject({ result: { stopReason: "end_turn" } })
})
