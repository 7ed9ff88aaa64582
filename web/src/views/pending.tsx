export function PendingView() { return <div />; }
