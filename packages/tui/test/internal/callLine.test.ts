import { expect, it } from "vitest"
import { callLine } from "../../src/CallOutcome.ts"

it.each<readonly [tool: string, input: unknown, line: string]>([
  ["read", { filePath: "src/a.ts" }, "read path=src/a.ts limit=all"],
  ["read", { filePath: "a", offset: 5, limit: 10 }, "read path=a offset=5 limit=10"],
  ["glob", { pattern: "src/*.js" }, "glob pattern=src/*.js"],
  [
    "task",
    { description: "Look", prompt: "long", subagent_type: "explore" },
    "task description=Look subagent_type=explore"
  ],
  ["write", { filePath: "a", content: "secret" }, "write path=a"],
  ["bash", { command: "a\nb", timeout: undefined }, "bash command=a\\nb"],
  ["todowrite", { todos: [{ content: "x" }] }, "todowrite todos=[{\"content\":\"x\"}]"],
  ["grep", { pattern: "x".repeat(100) }, `grep pattern=${"x".repeat(60)}…`],
  ["odd\u001b", { "k\u001b": null }, "odd\\x1b k\\x1b=null"],
  ["constructor", { a: 1 }, "constructor a=1"],
  ["list", "{not json", "list"],
  ["list", undefined, "list"]
])("%s %j", (tool, input, line) => {
  expect(callLine(tool, input)).toBe(line)
})
