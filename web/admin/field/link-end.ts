/** When a signed link ends. Pure, but for the clock. */

/** Whether a signed link has ended. */
export const isOver = (url: string | undefined): boolean => {
  const end = url === undefined ? null : new URL(url, location.href).searchParams.get("exp")
  return end !== null && Number(end) * 1_000 <= Date.now()
}
