// @ts-check
// A typical program with the AI SDK: a subagent is a tool with its own loop. Nothing is stored.
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { stepCountIs, streamText, tool } from "ai"
import { readFile } from "node:fs/promises"
import { z } from "zod"

const model = createOpenAICompatible({
  name: "mock",
  baseURL: process.env["OPENAI_BASE_URL"] ?? "",
  apiKey: "x",
  includeUsage: true
})("m")

const read = tool({
  description: "read",
  inputSchema: z.object({ filePath: z.string() }),
  execute: ({ filePath }) => readFile(filePath, "utf8")
})

const task = tool({
  description: "task",
  inputSchema: z.object({ prompt: z.string() }),
  execute: async ({ prompt }) => `<task_result>${await run(prompt, { read })}</task_result>`
})

/**
 * @param {string} prompt
 * @param {import("ai").ToolSet} tools
 * @returns {Promise<string>}
 */
async function run(prompt, tools) {
  const result = streamText({
    model,
    prompt,
    tools,
    stopWhen: stepCountIs(10_000),
    maxRetries: 0,
    onError: ({ error }) => {
      throw error
    }
  })
  return result.text
}

console.log(await run(process.argv[2] ?? "", { read, task }))
