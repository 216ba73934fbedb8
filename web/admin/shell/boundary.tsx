/** Catches what a page throws while it is drawn: the rest of the app goes on, and people can try again. It hides nothing: the error is in the console. */

import { Component, type ReactNode } from "react"
import { Problem } from "./problem.tsx"

interface BoundaryProps {
  readonly children: ReactNode
  /** Another text begins anew: somebody went to another page. */
  readonly at: string
}

export class Boundary extends Component<BoundaryProps, { readonly error: unknown }> {
  override state: { readonly error: unknown } = { error: null }

  static getDerivedStateFromError(error: unknown): { readonly error: unknown } {
    return { error }
  }

  override componentDidUpdate(before: BoundaryProps): void {
    if (before.at !== this.props.at && this.state.error !== null) this.setState({ error: null })
  }

  override render(): ReactNode {
    return this.state.error === null
      ? this.props.children
      : <Problem error={this.state.error} onRetry={() => this.setState({ error: null })} />
  }
}
