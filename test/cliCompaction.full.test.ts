/** The built program and conversations that exceed the context of their model. */
import { describe, expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { type Sandbox, sandbox } from "./support/cli.ts"
import { type Llm, type LlmAnswer, type LlmRequest, startLlm } from "./support/llm.ts"

vi.setConfig({ testTimeout: 60_000 })

const isCompaction = ({ messages: [first], tools }: LlmRequest): boolean =>
  tools.length === 0 && String(first?.content).includes("replaces a long conversation")

/** What the protocol calls a request that is too long. */
const tooLong: LlmAnswer = { status: 413 }

/** A model that reads only this many characters, with long answers. */
const world = async (most: number, summary: () => LlmAnswer | string | Promise<LlmAnswer>) => {
  let answers = 0
  const llm: Llm = await startLlm((request) => {
    if (isCompaction(request)) return summary()
    const length = request.messages.slice(1).map(({ content }) => JSON.stringify(content)).join("").length
    return length > most ? tooLong : `answer ${++answers} ${"y".repeat(4_000)}`
  })
  const place: Sandbox = sandbox({ llm: llm.url })
  atEnd(llm.close, place.remove)
  const say = (words: string, ...flags: ReadonlyArray<string>) =>
    place.run(["run", "-m", "openai/m", "--title", "Long", ...flags, words])
  const sessions = async (...args: ReadonlyArray<string>) =>
    JSON.parse((await place.run(["sessions", ...args, "--format", "json"])).stdout)
  return { llm, place, say, sessions }
}

describe("skein run", () => {
  it("compacts a conversation that its model rejects, says so, and continues", async () => {
    const { llm, place, say, sessions } = await world(8_000, () => "They talked.")
    await say("Answer in rhymes")
    await say("two", "-c")
    const { code, stderr, stdout } = await say("three", "-c")
    expect({ code, stdout: stdout.slice(0, 9) }, stderr).toEqual({ code: 0, stdout: "answer 3 " })
    expect(stderr).toContain("> compacting: the conversation is summarised to save room\n")
    expect(stderr).toMatch(/> compacted tokens=[\d.]+k? before=[\d.]+k\n/)
    const last = JSON.stringify(llm.requests.at(-1)?.messages)
    expect(last).toContain("They talked.")
    expect(last).toContain("Answer in rhymes")
    expect(last).not.toContain("answer 1")
    // Every message can still be read.
    const [{ id }] = await sessions()
    const { stdout: shown } = await place.run(["sessions", "show", id])
    for (const words of ["answer 1 yyy", "answer 2 yyy", "answer 3 yyy"]) expect(shown).toContain(words)
    expect(shown).toContain("(what was said before is sent as this summary)")
  })

  it("exits with 1 and says what to do if that does not help", async () => {
    const { llm, say } = await world(0, () => "They talked.")
    const { code, stderr, stdout } = await say("one")
    expect([code, stdout]).toEqual([1, ""])
    expect(stderr).toMatch(/skein: The conversation of ses_\w+ exceeds the context of openai\/m/)
    expect(stderr).toMatch(/Continue with another model: `skein sessions resume ses_\w+ -m PROVIDER\/MODEL`\.\n$/)
    expect(llm.requests).toHaveLength(1)
    const result = await say("one", "--format", "json")
    expect(JSON.parse(result.stdout.trimEnd().split("\n").at(-1) ?? "")).toMatchObject({
      type: "result",
      outcome: "failed",
      error: { tag: "ContextOverflow" }
    })
  })

  it("continues if another process was killed during compaction", async () => {
    let hangs = true
    const { llm, place, say, sessions } = await world(8_000, () => hangs ? { hangs } : "They talked.")
    await say("one")
    await say("two", "-c")
    const { child, ended } = place.start(["run", "-m", "openai/m", "-c", "three"])
    await llm.asked(4)
    child.kill("SIGKILL")
    await ended
    hangs = false
    const [{ id }] = await sessions()
    const before = await sessions("show", id)
    expect(JSON.stringify(before.messages)).not.toContain("\"compaction\"")
    const { code, stderr, stdout } = await say("four", "-c")
    expect({ code, stdout: stdout.slice(0, 9) }, stderr).toEqual({ code: 0, stdout: "answer 4 " })
    const text = JSON.stringify((await sessions("show", id)).messages)
    expect(text.match(/"type":"compaction"/g)).toHaveLength(1)
    for (const words of ["answer 1 yyy", "answer 2 yyy", "\"three\"", "\"four\""]) expect(text).toContain(words)
  })
})

describe("skein sessions compact", () => {
  it("summarises a session, and the next prompt continues from there", async () => {
    const { llm, place, say, sessions } = await world(1_000_000, () => "They talked.")
    for (const words of ["one", "two", "three"]) await say(words, ...(words === "one" ? [] : ["-c"]))
    const [{ id }] = await sessions()
    const { code, stderr, stdout } = await place.run(["sessions", "compact", id])
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toMatch(/^About [\d.]+k? tokens of conversation became [\d.]+k?\.\n$/)
    await say("four", "-c")
    expect(JSON.stringify(llm.requests.at(-1)?.messages)).not.toContain("answer 1")
    expect(await sessions("compact", id)).toMatchObject({
      auto: false,
      messageID: expect.stringMatching(/^msg_/),
      tokens: { before: expect.any(Number), after: expect.any(Number) }
    })
  })

  it("reports errors, with the right exit code", async () => {
    const { place, say, sessions } = await world(1_000_000, () => ({ status: 400 }))
    await say("one")
    const [{ id }] = await sessions()
    const nothing = await place.run(["sessions", "compact", id])
    expect([nothing.code, nothing.stdout]).toEqual([1, ""])
    expect(nothing.stderr).toContain(`skein: The conversation of ${id} was not made shorter: `)
    expect((await place.run(["sessions", "compact", "ses_none"])).code).toBe(2)
  })
})
