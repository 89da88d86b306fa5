/** Decides how a conversation is shortened by fixed rules: the beginning of each thing that was said stays. */

/** How much of each entry, and of all of them, is left, in characters. */
const ofEach = 160
const ofAll = 4_000

/** The entries of a conversation, each in one line, the newest of them where there are too many. */
export const digestOf = (conversation: string): string => {
  const lines = conversation.split(/\n\n(?=(?:User|Agent|Note|Summary of what came before): ?)/)
    .map((entry) => [...entry.replaceAll(/\s+/g, " ").trim()].slice(0, ofEach).join(""))
  let left = ofAll
  const kept = lines.toReversed().filter((line) => (left -= line.length) >= 0).toReversed()
  return [`By fixed rules, the beginning of what was said in ${kept.length} messages:`, ...kept].join("\n")
}
