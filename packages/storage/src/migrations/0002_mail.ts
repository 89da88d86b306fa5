/** What processes say to one another's tasks. */

/** Finds what waits without a look at all that was ever said. */
export const statements: ReadonlyArray<string> = [
  "CREATE INDEX inbox_mail ON inbox (id) WHERE taken_at IS NULL AND kind IN ('steer', 'stop')"
]
