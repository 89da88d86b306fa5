/** Decides which of several runners with room gets a tree. */

/**
 * The address of one of them, by `chance` from 0 to 1: a runner with twice the room is chosen twice as often. Undefined if
 * none has room.
 */
export const pick = (
  rooms: ReadonlyArray<{ readonly url: string; readonly room: number }>,
  chance: number
): string | undefined => {
  const open = rooms.filter(({ room }) => room > 0)
  let left = chance * open.reduce((sum, { room }) => sum + room, 0)
  for (const { room, url } of open) {
    left -= room
    if (left < 0) return url
  }
  return open.at(-1)?.url
}
