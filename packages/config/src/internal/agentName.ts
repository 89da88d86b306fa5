/** Decides which names agents, commands and skills may have. */

// Control characters would break the lines of lists.
const isLine = (name: string): boolean =>
  name.trim() === name && name !== "" && name.length <= 128 && !/\p{Cc}/u.test(name)

/** Whether a name is valid for an agent: names are used in rules, where `*` and `?` are wildcards. */
export const isAgentName = (name: string): boolean => isLine(name) && !/[*?]/.test(name)

/** How to fix an agent's name. */
export const namesForAgents = "use up to 128 characters in one line, without * and ?"

/** Whether a name is valid for a command or a skill. */
export const isName = isLine

/** How to fix such a name. */
export const namesForOthers = "use up to 128 characters in one line"

/** The name of another tool's agent, in a form that is safe in rules. */
export const asAgentName = (name: string): string => name.replaceAll(/[\p{Cc}*?]+/gu, "-").trim().slice(0, 128).trim()
