// @ts-check
// Checks every request against the rules of the protocol, as a strict server does.

/**
 * What is wrong with a conversation; nothing where all is well.
 * @param {ReadonlyArray<import("./script.mjs").WireMessage>} messages
 * @returns {ReadonlyArray<string>}
 */
export const faultsIn = (messages) => {
  /** @type {Array<string>} */
  const faults = []
  /** @type {Set<string>} */
  const seen = new Set()
  /** @type {Set<string>} */
  let open = new Set()
  let before = "system"
  messages.forEach((message, at) => {
    const { role } = message
    const where = `message ${at} (${role})`
    if (role === "tool") {
      const id = message.tool_call_id ?? ""
      if (!open.delete(id)) faults.push(`${where} answers ${id}, which no open call of the message before has`)
    } else {
      if (open.size > 0) faults.push(`${where} comes while ${[...open].join(", ")} has no result`)
      open = new Set()
      if (role === "system" && before !== "system") faults.push(`${where} comes after other messages`)
      if (role === "assistant" && (before === "assistant" || before === "system")) {
        faults.push(`${where} follows ${before}`)
      }
      if (role === "user" && before === "user") faults.push(`${where} follows user`)
    }
    for (const { function: { arguments: args }, id } of message.tool_calls ?? []) {
      if (seen.has(id)) faults.push(`${where} uses the id ${id} again`)
      seen.add(id)
      open.add(id)
      if (!isJson(args)) faults.push(`${where} has arguments that are no JSON`)
    }
    before = role
  })
  if (open.size > 0) faults.push(`the conversation ends while ${[...open].join(", ")} has no result`)
  if (before !== "user" && before !== "tool") faults.push(`the conversation ends with ${before}`)
  return faults
}

/** @param {string} text */
const isJson = (text) => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
