/** The built program with servers that want the reasoning of their models back, in its place. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startWireServer, type WireRequest } from "./support/wireServer.ts"

vi.setConfig({ testTimeout: 60_000 })

interface Chat {
  readonly messages: ReadonlyArray<{ readonly role: string; readonly tool_calls?: unknown }>
  readonly tools?: ReadonlyArray<unknown>
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }]
})

const usage = { choices: [], usage: { prompt_tokens: 100, completion_tokens: 10 } }

/** A model that thinks before its first call, and not before the second. */
const script = ({ body }: WireRequest<Chat>) => {
  const results = body.messages.filter(({ role }) => role === "tool").length
  if (body.tools === undefined || results === 2) return [chunk({ content: "done" }), chunk({}, "stop"), usage]
  const call = { index: 0, id: `c${results}`, function: { name: "read", arguments: "{\"filePath\":\"a.txt\"}" } }
  return [
    ...results === 0 ? [chunk({ reasoning_content: "I should " }), chunk({ reasoning_content: "look." })] : [],
    chunk({ tool_calls: [call] }),
    chunk({}, "tool_calls"),
    usage
  ]
}

it.each([["deepseek", ""], ["corp", undefined]])(
  "sends %s the reasoning of its model with each call, also after a restart",
  async (id, without) => {
    const server = await startWireServer<Chat>(script)
    const place = sandbox({ files: { "a.txt": "apples\n" } })
    atEnd(server.close, place.remove)
    const env = { DEEPSEEK_API_KEY: "sk-test-0123456789", DEEPSEEK_BASE_URL: `${server.url}/v1`, OPENAI_API_KEY: "" }
    const model = id === "deepseek" ? "deepseek/deepseek-flash" : "openai/m"
    const options = { env: id === "deepseek" ? env : { OPENAI_BASE_URL: `${server.url}/v1` } }
    const ended = await place.run(["run", "--title", "t", "-m", model, "look"], options)
    expect(ended).toMatchObject({ code: 0, stdout: "done\n" })
    await place.run(["run", "-c", "-m", model, "again"], options)
    for (const { body } of server.requests.slice(2)) {
      expect(body.messages.filter(({ tool_calls }) => tool_calls !== undefined)).toMatchObject([
        { reasoning_content: "I should look." },
        without === undefined ? { tool_calls: [{}] } : { reasoning_content: without }
      ])
    }
    expect(server.requests.length).toBeGreaterThanOrEqual(4)
  }
)
