export function PoolsView() { return <div />; }
