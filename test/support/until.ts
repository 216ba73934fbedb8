/** Waits for what others bring about. Each look may open a connection to a database: the longer the wait, the fewer are worth their price. */

/** Waits until it holds; looks again after an eighth of the time that it has waited, between 10 and 100 milliseconds. `what` is for the error. */
export const waitUntil = async (
  holds: () => boolean | Promise<boolean>,
  what = "that",
  milliseconds = 60_000
): Promise<void> => {
  const begin = performance.now()
  while (!await holds()) {
    const waited = performance.now() - begin
    if (waited > milliseconds) throw new Error(`It did not come to ${what} within ${milliseconds / 1_000} seconds.`)
    await new Promise((resolve) => setTimeout(resolve, Math.min(100, Math.max(10, waited / 8))))
  }
}
