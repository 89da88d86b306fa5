// @ts-check
// The floor: an agent loop with subagents in plain Node, as little as it can be. fetch, a parser for the stream, reading
// files; no library, and nothing is stored.
import { readFile } from "node:fs/promises"

/**
 * @typedef {{ id: string, type: "function", function: { name: string, arguments: string } }} Call
 * @typedef {{ role: string, content: string, tool_calls?: ReadonlyArray<Call>, tool_call_id?: string }} Message
 */

const url = `${process.env["OPENAI_BASE_URL"]}/chat/completions`

/** @param {string} name @param {string} key */
const tool = (name, key) => ({
  type: "function",
  function: {
    name,
    description: name,
    parameters: { type: "object", properties: { [key]: { type: "string" } }, required: [key] }
  }
})
const tools = [tool("task", "prompt"), tool("read", "filePath")]

/** @param {ReadonlyArray<Message>} messages @returns {Promise<Message>} */
const complete = async (messages) => {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "m", stream: true, messages, tools })
  })
  /** @type {Array<Call>} */
  const calls = []
  const decoder = new TextDecoder()
  let content = ""
  let buffer = ""
  for await (const bytes of /** @type {NonNullable<typeof response.body>} */ (response.body)) {
    buffer += decoder.decode(bytes, { stream: true })
    let end = buffer.indexOf("\n\n")
    while (end >= 0) {
      const line = buffer.slice(0, end)
      buffer = buffer.slice(end + 2)
      end = buffer.indexOf("\n\n")
      if (!line.startsWith("data: {")) continue
      const delta = JSON.parse(line.slice("data: ".length)).choices[0]?.delta
      if (delta?.content) content += delta.content
      for (const part of delta?.tool_calls ?? []) {
        const call = calls[part.index] ??= {
          id: part.id,
          type: "function",
          function: { name: part.function.name, arguments: "" }
        }
        call.function.arguments += part.function.arguments
      }
    }
  }
  return { role: "assistant", content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }
}

/** @param {string} prompt @returns {Promise<string>} */
const run = async (prompt) => {
  /** @type {Array<Message>} */
  const messages = [{ role: "user", content: prompt }]
  for (;;) {
    const message = await complete(messages)
    messages.push(message)
    if (message.tool_calls === undefined) return message.content
    messages.push(
      ...await Promise.all(message.tool_calls.map(async (call) => {
        const input = JSON.parse(call.function.arguments)
        const content = call.function.name === "task"
          ? `<task_result>${await run(input.prompt)}</task_result>`
          : await readFile(input.filePath, "utf8")
        return { role: "tool", tool_call_id: call.id, content }
      }))
    )
  }
}

console.log(await run(process.argv[2] ?? ""))
