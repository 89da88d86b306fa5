/** The built program with a server that speaks Anthropic's protocol. */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startWireServer, type WireRequest } from "./support/wireServer.ts"

vi.setConfig({ testTimeout: 60_000 })

interface Block {
  readonly type: string
  readonly text?: string
  readonly thinking?: string
  readonly signature?: string
  readonly content?: string
  readonly cache_control?: object
}

interface Messages {
  readonly model: string
  readonly system?: ReadonlyArray<Block>
  readonly messages: ReadonlyArray<{ readonly role: string; readonly content: ReadonlyArray<Block> }>
  readonly tools?: ReadonlyArray<{ readonly name: string }>
}

const usage = { input_tokens: 100, cache_read_input_tokens: 800, cache_creation_input_tokens: 100, output_tokens: 10 }

const block = (index: number, start: object, ...deltas: ReadonlyArray<object>) => [
  { type: "content_block_start", index, content_block: start },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index }
]

const thinking = (signature: string) =>
  block(
    0,
    { type: "thinking", thinking: "" },
    { type: "thinking_delta", thinking: "I delegate." },
    { type: "signature_delta", signature }
  )

const text = (value: string) => block(1, { type: "text", text: "" }, { type: "text_delta", text: value })

const call = (index: number, name: string, input: object) =>
  block(index + 2, { type: "tool_use", id: `toolu_${index}`, name, input: {} }, {
    type: "input_json_delta",
    partial_json: JSON.stringify(input)
  })

const answer = (reason: string, ...blocks: ReadonlyArray<ReadonlyArray<object>>) => [
  {
    type: "message_start",
    message: { id: "msg_1", role: "assistant", content: [], usage: { ...usage, output_tokens: 1 } }
  },
  ...blocks.flat(),
  { type: "message_delta", delta: { stop_reason: reason, stop_sequence: null }, usage },
  { type: "message_stop" }
]

const task = (index: number, file: string) =>
  call(index, "task", { description: `Read ${file}`, subagent_type: "explore", prompt: `Read ${file}.` })

const results = ({ messages }: Messages) =>
  messages.flatMap(({ content }) => content).filter(({ type }) => type === "tool_result")

/** A root that delegates to two subagents, which read a file each. */
const script = ({ body }: WireRequest<Messages>) => {
  const last = JSON.stringify(body.messages.at(-1))
  if (body.tools === undefined) return answer("end_turn", text("A title"))
  const isRoot = body.tools.some(({ name }) => name === "task")
  const done = results(body).length
  if (!isRoot) {
    const file = /Read (\w+\.txt)/.exec(JSON.stringify(body.messages))?.[1] ?? ""
    return done === 0
      ? answer("tool_use", call(0, "read", { filePath: file }))
      : answer("end_turn", text(`It says ${/(apples|pears)/.exec(last)?.[1]}.`))
  }
  if (last.includes("again")) return answer("end_turn", text("Again."))
  if (last.includes("at length")) return answer("max_tokens", text("Apples and"))
  if (last.includes("of war")) return answer("refusal", text("Apples of"))
  return done === 0
    ? answer("tool_use", thinking("SIGNATURE"), text("Delegating."), task(0, "a.txt"), task(1, "b.txt"))
    : answer("end_turn", text("Apples and pears."))
}

const key = "sk-ant-canary-0123456789"

const world = async () => {
  const server = await startWireServer(script)
  const place = sandbox({ files: { "a.txt": "apples\n", "b.txt": "pears\n" } })
  atEnd(server.close, place.remove)
  const env = { ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: server.url }
  return { server, place, run: (...args: ReadonlyArray<string>) => place.run(["run", ...args], { env }) }
}

/** The blocks of the first answer of a root, as they were sent back. */
const sentBack = ({ body }: WireRequest<Messages>) => body.messages[1]?.content.map(({ type }) => type)

it("runs a tree with subagents in parallel, counts the cache, and leaves the key nowhere", async () => {
  const { place, run, server } = await world()
  const ended = await run("--format", "json", "--title", "Fruit", "Compare.")
  expect(ended.code).toBe(0)
  const result = JSON.parse(ended.stdout.trimEnd().split("\n").at(-1) ?? "")
  expect(result.text).toBe("Apples and pears.")

  const turns = server.requests.filter(({ body }) => body.tools !== undefined)
  const isRoot = ({ body }: WireRequest<Messages>) => body.tools?.some(({ name }) => name === "task") === true
  const [first, second] = turns.filter(isRoot)
  expect(turns.filter((request) => !isRoot(request))).toHaveLength(4)
  for (const { headers, url } of turns) {
    expect(url).toBe("/v1/messages")
    expect(headers["x-api-key"]).toBe(key)
  }
  expect(first?.body.system?.at(-1)?.cache_control).toEqual({ type: "ephemeral" })
  expect(second === undefined ? [] : sentBack(second)).toEqual(["thinking", "text", "tool_use", "tool_use"])
  expect(second?.body.messages[1]?.content[0]).toMatchObject({ thinking: "I delegate.", signature: "SIGNATURE" })
  const outputs = second === undefined ? [] : results(second.body).map(({ content }) => content)
  expect(outputs.map((output) => /apples|pears/.exec(output ?? "")?.[0])).toEqual(["apples", "pears"])

  // Two requests of the root and of each subagent: 800 tokens came from the cache, 100 went there.
  expect(result.usage.tokens).toMatchObject({ input: 6_000, cacheRead: 4_800, cacheWrite: 600, output: 60 })
  expect(result.usage.cost).toBe("0.00378")

  const directory = dirname(place.database)
  const kept = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  expect(kept.length).toBeGreaterThan(0)
  for (const entry of kept) expect(readFileSync(join(entry.parentPath, entry.name)).includes(key)).toBe(false)
  expect(ended.stdout + ended.stderr).not.toContain(key)
})

it("chooses the provider whose key is set, sends thinking back after a restart, and not to another model", async () => {
  const { run, server } = await world()
  const begun = await run("Compare.")
  expect(begun.stdout).toBe("Apples and pears.\n")
  expect(begun.stderr).toContain("model: anthropic/claude-sonnet-5-5 (ANTHROPIC_API_KEY is set; -m chooses another)\n")
  expect((await run("-c", "Once again.")).stdout).toBe("Again.\n")
  const [own] = server.requests.slice(-1)
  expect(own === undefined ? [] : sentBack(own)).toEqual(["thinking", "text", "tool_use", "tool_use"])
  expect(own?.body.messages[1]?.content[0]?.signature).toBe("SIGNATURE")
  expect((await run("-c", "-m", "anthropic/claude-opus-5-5", "Once again.")).stdout).toBe("Again.\n")
  const [other] = server.requests.slice(-1)
  expect(other?.body.model).toBe("claude-opus-5-5")
  expect(other === undefined ? [] : sentBack(other)).toEqual(["text", "tool_use", "tool_use"])
})

it.each([["at length", "Apples and\n", "output limit"], ["of war", "Apples of\n", "content filter"]])(
  "says that an answer %s was cut off",
  async (words, stdout, why) => {
    const { run } = await world()
    const ended = await run(`Compare ${words}.`)
    expect(ended).toMatchObject({ code: 0, stdout })
    expect(ended.stderr).toContain("skein: The answer was cut off")
    expect(ended.stderr).toContain(why)
  }
)
