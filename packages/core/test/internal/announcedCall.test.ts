import { expect, it } from "vitest"
import { announcedIn } from "../../src/internal/turn/announcedCall.ts"

const offered = ["read", "bash"]

it.each([
  "<tool_call>{\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}}</tool_call>",
  "I will look.\n<function=read>{\"filePath\": \"a\"}</function>",
  "<invoke name=\"read\"><parameter name=\"filePath\">a</parameter></invoke>",
  "[TOOL_CALLS][{\"name\": \"read\", \"arguments\": {}}]",
  "<|tool_call|>read(a)",
  "to=functions.read {\"filePath\": \"a\"}",
  "{\"name\": \"read\", \"arguments\": {\"filePath\": \"a\"}}",
  "```json\n{\"tool\": \"read\", \"parameters\": {}}\n```",
  "[{\"name\": \"read\", \"input\": {}}]"
])("finds the call of read in %j", (text) => {
  expect(announcedIn(text, offered)).toBe("read")
})

it.each([
  "",
  "I read the file.",
  "Models write `<tool_call>` before a read.",
  "```\n<tool_call>{\"name\": \"read\"}</tool_call>\n```\nThis is how a read looks.",
  "<tool_call>{\"name\": \"other\"}</tool_call>",
  "{\"name\": \"read\"}",
  "{\"name\": \"Ada\", \"input\": {}}",
  "Here it is: {\"name\": \"read\", \"arguments\": {}}",
  "{\"name\": "
])("finds no call in %j", (text) => {
  expect(announcedIn(text, offered)).toBeUndefined()
})
