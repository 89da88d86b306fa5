/** The built program: summaries of sessions, on request and automatic. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { type Llm, type LlmRequest, type Script, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const isSummary = ({ messages: [first], tools }: LlmRequest): boolean =>
  tools.length === 0 && String(first?.content).includes("digest")

/** A model that writes a file and says so; `summary` is its answer to a digest. */
const world = async (summary: (request: LlmRequest) => ReturnType<Script>, config: object = {}) => {
  const llm: Llm = await startLlm((request) =>
    isSummary(request)
      ? summary(request)
      : request.messages.at(-1)?.role === "tool"
      ? "Written."
      : { calls: [{ tool: "write", args: { filePath: "new.txt", content: "x\n" } }] }
  )
  const place: Sandbox = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  mkdirSync(join(place.home, "config", "skein"), { recursive: true })
  writeFileSync(join(place.home, "config", "skein", "skein.json"), JSON.stringify(config))
  const start = (...args: ReadonlyArray<string>) =>
    place.start(["run", "-m", "openai/m", "--auto", "--title", "Write", ...args, "Write it"])
  const sessions = async (...args: ReadonlyArray<string>) =>
    JSON.parse((await place.run(["sessions", ...args, "--format", "json"])).stdout)
  return { llm, place, start, sessions }
}

describe("skein sessions summarize", () => {
  it("has a model describe the result of a session, and keeps that for lists", async () => {
    const { llm, place, sessions, start } = await world(() => "Made new.txt.\n\u001b[31mNothing is open.")
    await start("--format", "quiet").ended
    const [{ id, time: { updated } }] = await sessions()
    expect(await place.run(["sessions", "summarize", id])).toMatchObject({
      code: 0,
      stdout: "Made new.txt.\n\\x1b[31mNothing is open.\n",
      stderr: ""
    })
    expect(llm.requests.at(-1)?.last).toContain("Files changed:\n- new.txt (write by build)")
    expect((await place.run(["sessions"])).stdout).toMatch(
      /^SESSION\t.*\tTITLE\tSUMMARY\nses_\w+\t.*\tWrite\tMade new\.txt\.\n$/
    )
    const [listed] = await sessions("list")
    expect(listed).toMatchObject({
      summary: { text: "Made new.txt.\n\u001b[31mNothing is open.", files: ["new.txt"] },
      time: { updated }
    })
    expect((await place.run(["sessions", "show", id])).stdout).toMatch(
      /^Write\nses_\w+ in .*\n\nmode: auto\n\nused: 2 steps, 330 tokens, unpriced\n\nMade new\.txt\.\n\\x1b\[31mNothing is open\.\n\(summary of [-\d: ]+\)\n\n---/
    )
    expect(await sessions("summarize", id)).toMatchObject({ files: ["new.txt"], until: expect.stringMatching(/^msg_/) })
  })

  it("reports errors, with the right exit code", async () => {
    const { place, sessions, start } = await world(() => ({ status: 400 }))
    expect(await place.run(["sessions", "summarize", "ses_none"])).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("There is no session ses_none")
    })
    await start("--format", "quiet").ended
    const [{ id }] = await sessions()
    const refused = await place.run(["sessions", "summarize", id])
    expect(refused).toMatchObject({ code: 1, stdout: "" })
    expect(refused.stderr).toContain(`skein: The session ${id} could not be summarised: `)
    expect(refused.stderr).toContain("agent.summary.model in skein.json")
    place.configure({ small_model: "no/such" })
    const nobody = await place.run(["sessions", "summarize", id])
    expect([nobody.code, nobody.stderr]).toEqual([2, expect.stringContaining("could not be summarised: ")])
  })

  it("works with the model that needs no key, too", async () => {
    const place = sandbox({ files: { "a.txt": "a" } })
    atEnd(place.remove)
    await place.run(["run", "-m", "offline/survey", "--format", "quiet", "what is a?"])
    const [{ id }] = JSON.parse((await place.run(["sessions", "--format", "json"])).stdout)
    expect((await place.run(["sessions", "summarize", id])).stdout).toMatch(
      /^Asked: what is a\?\nNo files were changed\.\n/
    )
  })
})

describe("with summaries in the user's config, skein run", () => {
  const config = { summaries: true }

  it("prints its answer, and then waits for the summary of its changes", async () => {
    let answer: (text: string) => void = () => undefined
    const { llm, sessions, start } = await world(
      () => new Promise<string>((resolve) => answer = resolve),
      config
    )
    const { ended, output } = start("--format", "json")
    await llm.asked(3)
    await vi.waitFor(() => expect(output()).toContain("\"type\":\"result\""))
    answer("Made new.txt.")
    const { code, stdout } = await ended
    expect(code).toBe(0)
    expect(JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({ type: "result", text: "Written." })
    expect(await sessions()).toMatchObject([{ summary: { text: "Made new.txt.", files: ["new.txt"] } }])
  })

  it("can be interrupted while it waits", async () => {
    const { llm, sessions, start } = await world(() => ({ hangs: true }), config)
    const { child, ended, output } = start("--format", "quiet")
    await llm.asked(3)
    await vi.waitFor(() => expect(output()).toBe("Written.\n"))
    child.kill("SIGINT")
    expect(await ended).toMatchObject({ code: 130, stdout: "Written.\n", stderr: "" })
    await llm.wasCut
    const [session] = await sessions()
    expect(session.summary).toBeUndefined()
  })
})
