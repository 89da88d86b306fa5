/** The built program with a server that speaks Google's protocol. */
import { expect, it, vi } from "vitest"
import { atEnd } from "./support/atEnd.ts"
import { sandbox } from "./support/cli.ts"
import { startWireServer, type WireRequest } from "./support/wireServer.ts"

vi.setConfig({ testTimeout: 60_000 })

interface GooglePart {
  readonly text?: string
  readonly functionCall?: { readonly name: string }
  readonly functionResponse?: { readonly response: { readonly content: string } }
  readonly thoughtSignature?: string
}

interface Contents {
  readonly contents: ReadonlyArray<{ readonly role: string; readonly parts: ReadonlyArray<GooglePart> }>
  readonly tools?: ReadonlyArray<{ readonly functionDeclarations: ReadonlyArray<{ readonly name: string }> }>
}

const usageMetadata = { promptTokenCount: 1_000, cachedContentTokenCount: 800, candidatesTokenCount: 10 }

const answer = (...parts: ReadonlyArray<object>) => [
  { candidates: [{ content: { role: "model", parts } }] },
  { candidates: [{ content: { role: "model", parts: [] }, finishReason: "STOP" }], usageMetadata }
]

const task = (file: string, more: object = {}) => ({
  functionCall: {
    name: "task",
    args: { description: `Read ${file}`, subagent_type: "explore", prompt: `Read ${file}.` }
  },
  ...more
})

const results = ({ contents }: Contents) =>
  contents.flatMap(({ parts }) => parts).flatMap(({ functionResponse }) => functionResponse ?? [])

/** A root that delegates to two subagents, which read a file each. */
const script = ({ body }: WireRequest<Contents>) => {
  const last = JSON.stringify(body.contents.at(-1))
  if (body.tools === undefined) return answer({ text: "A title" })
  const isRoot = body.tools.some(({ functionDeclarations: all }) => all.some(({ name }) => name === "task"))
  const done = results(body).length
  if (!isRoot) {
    const file = /Read (\w+\.txt)/.exec(JSON.stringify(body.contents))?.[1] ?? ""
    return done === 0
      ? answer({ functionCall: { name: "read", args: { filePath: file } }, thoughtSignature: "CHILD" })
      : answer({ text: `It says ${/(apples|pears)/.exec(last)?.[1]}.` })
  }
  if (last.includes("again")) return answer({ text: "Again." })
  return done === 0
    ? answer({ text: "Hm.", thought: true }, task("a.txt", { thoughtSignature: "ROOT" }), task("b.txt"))
    : answer({ text: "Apples and pears." })
}

it("runs a tree with subagents in parallel, and sends the signatures of calls back, also after a restart", async () => {
  const server = await startWireServer(script)
  const place = sandbox({ files: { "a.txt": "apples\n", "b.txt": "pears\n" } })
  atEnd(server.close, place.remove)
  const env = { GEMINI_API_KEY: "AIza-canary", GOOGLE_GEMINI_BASE_URL: server.url }
  const ended = await place.run(["run", "--format", "json", "--title", "Fruit", "Compare."], { env })
  const result = JSON.parse(ended.stdout.trimEnd().split("\n").at(-1) ?? "")
  expect(result).toMatchObject({ text: "Apples and pears.", exitCode: 0 })
  expect(result.usage.tokens).toMatchObject({ input: 6_000, cacheRead: 4_800, output: 60 })
  const child = server.requests.find(({ body }) => results(body).length === 1)
  expect(child?.body.contents[1]?.parts[0]?.thoughtSignature).toBe("CHILD")

  const again = await place.run(["run", "-c", "Once again."], { env })
  expect(again).toMatchObject({ code: 0, stdout: "Again.\n" })
  const [last] = server.requests.slice(-1)
  expect(last?.headers["x-goog-api-key"]).toBe("AIza-canary")
  const calls = last?.body.contents[1]?.parts.filter(({ functionCall }) => functionCall !== undefined)
  expect(calls?.map(({ thoughtSignature }) => thoughtSignature)).toEqual(["ROOT", undefined])
  const outputs = last === undefined ? [] : results(last.body).map(({ response }) => response.content)
  expect(outputs.map((output) => /apples|pears/.exec(output)?.[0])).toEqual(["apples", "pears"])
})
