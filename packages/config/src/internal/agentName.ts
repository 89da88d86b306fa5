/** Decides which names agents, commands and skills may have: people name them as they like. */

// Control characters would break the lines in which names are listed.
const isLine = (name: string): boolean =>
  name.trim() === name && name !== "" && name.length <= 128 && !/\p{Cc}/u.test(name)

/** Whether an agent may be called so: names stand in rules, where `*` and `?` are wildcards. */
export const isAgentName = (name: string): boolean => isLine(name) && !/[*?]/.test(name)

/** How to fix an agent's name. */
export const namesForAgents = "use up to 128 characters in one line, without * and ?"

/** Whether a command or a skill may be called so. */
export const isName = isLine

/** How to fix such a name. */
export const namesForOthers = "use up to 128 characters in one line"

/** A name of another tool's agent as it may stand in rules. */
export const asAgentName = (name: string): string => name.replaceAll(/[\p{Cc}*?]+/gu, "-").trim().slice(0, 128).trim()
