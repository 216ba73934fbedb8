/** Catches errors that a page throws during rendering. The rest of the app continues, and people can try again. The error is still in the console. */

import { Component, type ReactNode } from "react"
import { useMessages } from "../messages/locale.tsx"
import { Problem } from "./problem.tsx"

interface BoundaryProps {
  readonly children: ReactNode
  /** The page. A new text resets the error. */
  readonly at: string
  /** Shown instead. Default: the problem with a button to try again. */
  readonly fallback?: ReactNode
  /** Called with the error. */
  readonly onError?: (error: unknown) => void
}

/**
 * Whether a file of the app could not be loaded: there is no connection, or a deployment removed the file. Browsers throw a TypeError for a module; for a
 * style the app's bundler throws an error of its own.
 */
const isUnfetched = (error: unknown): boolean =>
  error instanceof Error && /import(?:ed|ing)|preload/i.test(error.message)

const Unfetched = (): ReactNode => {
  const t = useMessages()
  return (
    <div className="missing" role="alert">
      <p>{navigator.onLine ? t.shell.newVersion : t.problem.offline}</p>
      {/* Browsers cache the failure to load a module, so only a reload helps. Drafts survive it. */}
      <button type="button" className="btn" onClick={() => location.reload()}>{t.shell.reload}</button>
    </div>
  )
}

export class Boundary extends Component<BoundaryProps, { readonly error: unknown }> {
  override state: { readonly error: unknown } = { error: null }

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error }
  }

  override componentDidCatch(error: unknown): void {
    this.props.onError?.(error)
  }

  override componentDidUpdate(before: BoundaryProps): void {
    if (before.at !== this.props.at && this.state.error !== null) this.setState({ error: null })
  }

  override render(): ReactNode {
    const { children, fallback } = this.props
    const { error } = this.state
    if (error === null) return children
    if (fallback !== undefined) return fallback
    return isUnfetched(error)
      ? <Unfetched />
      : <Problem error={error} onRetry={() => this.setState({ error: null })} />
  }
}
