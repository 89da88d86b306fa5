/** Shortens a conversation by fixed rules: it keeps the beginning of each message. */

/** How much to keep of each entry, and in all, in characters. */
const ofEach = 160
const ofAll = 4_000

/** The entries of a conversation, one line each. If there are too many, the newest. */
export const digestOf = (conversation: string): string => {
  const lines = conversation.split(/\n\n(?=(?:User|Agent|Note|Summary of what came before): ?)/)
    .map((entry) => [...entry.replaceAll(/\s+/g, " ").trim()].slice(0, ofEach).join(""))
  let left = ofAll
  const kept = lines.toReversed().filter((line) => (left -= line.length) >= 0).toReversed()
  return [`By fixed rules, the beginning of what was said in ${kept.length} messages:`, ...kept].join("\n")
}
