# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# shellcheck shell=bash disable=SC2154 # set by third_party.sh
# ghc: GHC: green threads over epoll, two processors
# programs: Haskell
# needs: ghc
# length: long
# gets: smc=8 may=CLOSED,TIMEOUT
stranger() {
	cat >p.hs <<-'EOT'
		import Control.Concurrent
		import Control.Monad
		import qualified Data.ByteString as B
		import qualified Data.ByteString.Char8 as C
		import Network.Socket
		import Network.Socket.ByteString
		import System.Environment
		import System.Timeout
		addr :: String -> SockAddr
		addr p = SockAddrInet (fromIntegral (read p :: Int)) (tupleToHostAddress (127, 0, 0, 1))
		echo :: Socket -> IO ()
		echo s = do { b <- recv s 65536; if B.null b then close s else sendAll s b >> echo s }
		count :: Socket -> Int -> IO Int
		count s n = do { b <- recv s 65536; if B.null b then return n else count s (n + B.length b) }
		client :: String -> Int -> IO (Int, Maybe Int)
		client p k = do
		  s <- socket AF_INET Stream defaultProtocol
		  connect s (addr p)
		  quiet <- timeout 50000 (B.length <$> recv s 1)
		  forM_ [1 .. 50 :: Int] $ \i -> sendAll s (C.replicate (i * 10) 'x') >> got s (i * 10)
		  _ <- forkIO (sendAll s (C.replicate (k * 300000) 'y') >> shutdown s ShutdownSend)
		  n <- count s 0
		  close s
		  return (n, quiet)
		  where got s n = when (n > 0) $ recv s n >>= got s . (n -) . B.length
		main :: IO ()
		main = do
		  [what, p] <- getArgs
		  if what == "server"
		    then do
		      l <- socket AF_INET Stream defaultProtocol
		      setSocketOption l ReuseAddr 1
		      bind l (addr p) >> listen l 50
		      forever $ accept l >>= \(s, _) -> forkIO (echo s)
		    else do
		      vs <- forM [1 .. 8] $ \k -> newEmptyMVar >>= \v -> forkIO (client p k >>= putMVar v) >> return v
		      forM_ vs $ takeMVar >=> print
	EOT
	ghc -v0 -O0 -threaded -with-rtsopts=-N2 -o p p.hs
	serve server ./p server "$port"
	await_port "$port"
	ask ./p client "$port"
	ask ./p client "$port" +RTS -N1
}
